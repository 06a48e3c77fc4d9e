"""A problem as Python functions: what its actions do, and which ways there are to do its tasks.

HyperTensioN (Magnaguagno, Meneguzzi and de Silva, 2020) compiles hierarchical problems to the language it is written
in, and pulls preconditions up, in the same way.

Which tasks may lead to themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from htn.compilations.pulled_up_preconditions import Needs, changes
from htn.grounding.instances import plain
from htn.lifted.fact_tables import Goals, Row, Tables
from htn.lifted.generated_code import Signatures, Source, Unfit, write_action, write_changes, write_ways
from htn.model import HtnDomain, HtnProblem, Method, linear
from planner.graphs import components
from planner.lightweight import dataclass, replace


def recursive(domain: HtnDomain) -> set[str]:
    """Return the tasks of `domain` that some chain of methods leads back to."""
    leads: dict[str, set[str]] = {name: set() for name in domain.tasks}
    for method in domain.methods.values():
        leads[method.task.predicate] |= {each.task.predicate for each in method.network.subtasks} & leads.keys()
    return {name for component in components(leads) for name in component if len(component) > 1 or name in leads[name]}


Cell = tuple[int, Any, Any, int, int]
"""A list of tasks: the number of the first, its arguments, the cell of what comes then, a hash of all that, and the
parts of the goal, as bits, that any of them may make true.
"""
Way = tuple[Cell, int, Row]
"""One way to do a task: the cell of what is left then, the number of the method, the objects of its parameters."""

STOP = 0
"""The number of what comes last in every list."""
DONE = 1
"""The number of what comes after a task that may be nested in itself."""
FIRST = 2
"""The number of the first task."""


@dataclass(frozen=True, slots=True)
class Machine:
    """Tasks are numbered: the `actions` first, from `FIRST`, then the compound ones; `methods` are numbered, too.

    `act[number](arguments, note)` changes the state, or returns False; `note` is given a function and an argument that
    undo each change. `ways[number - len(actions)](arguments, rest)` yields the ways to do a compound task, and `rest`
    after it. `recursive` are the tasks that may lead to themselves. `inverse` has for each function that changes the
    state the one that undoes it. `state` has a hash of the state, and the parts of the goal that hold, of which there
    are `goals`: both as bits.
    """

    number: Mapping[str, int]
    methods: tuple[Method, ...]
    act: list[Callable[[Row, Callable[[tuple[Callable[[Any], None], Any]], None]], bool]]
    ways: list[Callable[[Row, Cell], Iterator[Way]]]
    recursive: frozenset[int]
    inverse: Mapping[Callable[[Any], None], Callable[[Any], None]]
    state: list[int]
    goals: int
    is_goal: Callable[[], bool]


def machine(problem: HtnProblem, *, backwards: bool = False, check: Callable[[], None] = lambda: None) -> Machine:
    """Return `problem` as functions; raises `Unfit` where a construct is not covered.

    `check` raises when a limit is reached meanwhile.

    Subtasks without an order are done as they are written. Methods are tried in the order in which they are declared,
    or `backwards`.
    """
    made = plain(problem)
    classical, domain = made.classical, made.domain
    if classical.domain.axioms:
        raise Unfit("derived predicates")
    changing = {predicate for action in classical.domain.actions.values() for predicate, _ in changes(action)}
    numbers = {name: place for place, name in enumerate((*classical.domain.actions, *domain.tasks), FIRST)}
    goals = Goals(domain, classical.all_objects, classical.goal.hard)
    source = Source(Tables(classical, changing), goals)
    _write(source, domain, numbers, check, backwards=backwards)
    source.write(0, "def is_goal():")
    source.write(1, f"return {source.test(classical.goal.hard, {})}")
    names = source.run()
    return Machine(
        numbers,
        tuple(domain.methods.values()),
        [names[f"act{numbers[name]}"] for name in classical.domain.actions],
        [names[f"ways{numbers[name]}"] for name in domain.tasks],
        frozenset(numbers[name] for name in recursive(domain)),
        {
            names[f"{one}{source.number(predicate)}"]: names[f"{other}{source.number(predicate)}"]
            for one, other in (("put", "cut"), ("cut", "put"))
            for predicate in changing
        },
        names["S"],
        goals.all,
        names["is_goal"],
    )


def _write(
    source: Source, domain: HtnDomain, numbers: Mapping[str, int], check: Callable[[], None], *, backwards: bool
) -> None:
    """Write the functions of all tasks, actions and predicates."""
    actions = domain.classical.actions
    in_line = replace(domain, methods={name: _in_line(method) for name, method in domain.methods.items()})
    check()
    needs = Needs(in_line, source.tables.objects, alone=True)
    places = {name: place for place, name in enumerate(domain.methods)}
    signatures = Signatures({**actions, **domain.tasks}, numbers, places)
    methods_of: dict[str, list[Method]] = {name: [] for name in domain.tasks}
    for method in in_line.methods.values():
        methods_of[method.task.predicate].append(method)
    for name, task in domain.tasks.items():
        check()
        methods = methods_of[name]
        write_ways(source, task, methods[::-1] if backwards else methods, needs, signatures)
    for name, action in actions.items():
        write_action(source, numbers[name], action)
    for predicate in sorted(source.tables.changing):
        write_changes(source, domain.classical.predicates[predicate])


def _in_line(method: Method) -> Method:
    """Return `method` with its subtasks in one line, in an order that agrees with theirs."""
    network = method.network
    line = linear(len(network.subtasks), network.ordering)
    ordering = tuple([(place, place + 1) for place in range(len(line) - 1)])
    return replace(
        method, network=replace(network, subtasks=tuple([network.subtasks[each] for each in line]), ordering=ordering)
    )
