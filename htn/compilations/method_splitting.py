"""One task above everything: the initial network as a method, so that planning begins with a single task.

Methods with fewer parameters: what is chosen for one subtask alone is chosen when that subtask is done.

The number of a method's instances is a product over its parameters. A parameter that only one subtask reads, and no
condition that could change meanwhile, becomes the parameter of a method of its own, for a *part*: a task that stands
for the subtask. So choices are added up and not multiplied (Behnke, Höller, Schmid, Bercher and Biundo, 2020, split
methods when they ground them).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from htn.model import HtnDomain, HtnProblem, Method, Network, Subtask, Task
from planner.lightweight import Final, replace
from planner.model import Atom, Equals, Formula, Not, Term
from planner.model.formulas import conjunction, conjuncts, free_variables

ROOT: Final = "@root"
"""The name of the task above the initial network, and of its only method."""


def rooted(problem: HtnProblem) -> HtnDomain:
    """Return the domain of `problem` with a task `ROOT`, without parameters, that stands for the initial network."""
    domain = problem.domain
    root = Method(ROOT, Atom(ROOT), problem.parameters, network=problem.network)
    return HtnDomain(domain.classical, {**domain.tasks, ROOT: Task(ROOT)}, {**domain.methods, ROOT: root})


PART: Final = "@part "
"""What the names of parts, and of their methods, begin with; the method and the place of the subtask follow."""


def split(domain: HtnDomain, is_static: Callable[[str], bool]) -> HtnDomain:
    """Return `domain` with parts for what can be chosen apart; `is_static` tells which predicates never change."""
    tasks, methods = dict(domain.tasks), dict[str, Method]()
    for method in domain.methods.values():
        whole = method
        for place in range(len(method.network.subtasks)):
            apart = _apart(whole, place, is_static)
            if apart:
                whole, part = _split_at(whole, place, apart)
                typed = {each.name: each for each in part.parameters}
                tasks[part.name] = Task(part.name, tuple([typed[each] for each in part.task.args]))
                methods[part.name] = part
        methods[whole.name] = whole
    return HtnDomain(domain.classical, tasks, methods)


def _apart(method: Method, place: int, is_static: Callable[[str], bool]) -> set[Term]:
    """Return the parameters of `method` that can be chosen with the subtask at `place`."""
    names = {each.name for each in method.parameters}
    mine = names.intersection(method.network.subtasks[place].task.args)
    if mine == names:
        return set()
    uses = Counter(term for each in method.network.subtasks for term in {*each.task.args})
    apart = {term for term in mine if uses[term] == 1 and term not in method.task.args}
    for part in (*conjuncts(method.precondition), *conjuncts(method.network.constraints)):
        terms = free_variables(part)
        if not (terms <= mine and _never_changes(part, is_static)):
            apart -= terms
    return apart


def _never_changes(part: Formula, is_static: Callable[[str], bool]) -> bool:
    match part:
        case Equals() | Not(Equals()):
            return True
        case Atom(predicate) | Not(Atom(predicate)):
            return is_static(predicate)
        case _:
            return False


def _split_at(method: Method, place: int, apart: set[Term]) -> tuple[Method, Method]:
    """Return `method` with a part for the subtask at `place`, and the method for that part."""
    subtask = method.network.subtasks[place]
    name = f"{PART}{method.name} {place}"
    shared = [term for term in dict.fromkeys(subtask.task.args) if term.startswith("?") and term not in apart]
    moved = [part for part in conjuncts(method.precondition) if not apart.isdisjoint(free_variables(part))]
    bound = [part for part in conjuncts(method.network.constraints) if not apart.isdisjoint(free_variables(part))]
    part = Method(
        name,
        Atom(name, tuple(shared)),
        tuple([each for each in method.parameters if each.name in subtask.task.args]),
        conjunction(moved),
        Network((subtask,), (), conjunction(bound)),
    )
    subtasks = list(method.network.subtasks)
    subtasks[place] = Subtask(part.task, subtask.label)
    whole = replace(
        method,
        parameters=tuple([each for each in method.parameters if each.name not in apart]),
        precondition=conjunction([each for each in conjuncts(method.precondition) if each not in moved]),
        network=replace(
            method.network,
            subtasks=tuple(subtasks),
            constraints=conjunction([each for each in conjuncts(method.network.constraints) if each not in bound]),
        ),
    )
    return whole, part
