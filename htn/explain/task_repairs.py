"""Single changes of methods and of the tasks of a problem, beside those of its actions and facts.

See `planner.explain.single_repairs`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import islice, permutations

from htn.model import (
    HtnDomain,
    HtnProblem,
    Method,
    Network,
    Subtask,
    seal_problem,
    sequence,
    transitive_successors,
)
from planner.explain.single_edits import FAIR, LIKELY, UNLIKELY, Scope, edit_formula, exchange, vary
from planner.explain.single_repairs import MOST_ACTIONS, Repair, list_repairs
from planner.lightweight import Any, Final, replace
from planner.model.domain import TypeHierarchy
from planner.model.formulas import Atom, Variable, unmarked

MOST_ADDED: Final = 300
"""Most subtasks that are tried in addition to those of a method."""


def list_task_repairs(problem: HtnProblem) -> list[Repair]:
    """Return the single changes of `problem`, the likeliest first, otherwise those of methods before the others."""
    found = [*_repair_network(problem)]
    if len(problem.domain.methods) <= MOST_ACTIONS:
        found = [*_repair_methods(problem), *found]
    found += [replace(each, make=_lift(problem, each)) for each in list_repairs(problem.classical)]
    return sorted(found, key=lambda each: each.price)


def _lift(problem: HtnProblem, repair: Repair) -> Callable[[], HtnProblem]:
    """Return a function that makes `problem` with a repair of its classical part."""

    def make() -> HtnProblem:
        classical = repair.make()
        domain = replace(problem.domain, classical=classical.domain)
        return seal_problem(replace(problem, classical=classical, domain=domain))

    return make


def _with_method(problem: HtnProblem, method: Method, **changes: Any) -> Callable[[], HtnProblem]:
    """Return a function that makes `problem` with this method changed."""

    def make() -> HtnProblem:
        methods = {**problem.domain.methods, method.name: replace(method, **changes)}
        return seal_problem(replace(problem, domain=replace(problem.domain, methods=methods)))

    return make


class _Tasks:
    """The signatures of tasks and actions."""

    def __init__(self, domain: HtnDomain) -> None:
        self.hierarchy = TypeHierarchy(domain.classical.types)
        self.parameters = {name: task.parameters for name, task in domain.tasks.items()}
        self.parameters |= {name: each.parameters for name, each in domain.classical.actions.items()}

    def fits(self, task: Atom, scope: Scope) -> bool:
        """Return whether the terms of `scope` may be the arguments of `task`."""
        kinds = self.parameters.get(task.predicate)
        if kinds is None or len(kinds) != len(task.args):
            return False
        return all(scope.is_a(arg, each.types) for arg, each in zip(task.args, kinds, strict=True))

    def others(self, task: Atom, scope: Scope) -> Iterator[tuple[Atom, int]]:
        """Yield tasks that differ from `task` by two arguments in the other order, one argument, or the name."""
        varied = vary(task, scope.terms, self.parameters)
        yield from ((each, price) for each, price in varied if self.fits(each, scope))


def _repair_methods(problem: HtnProblem) -> Iterator[Repair]:
    domain = problem.domain
    tasks = _Tasks(domain)
    for method in domain.methods.values():
        place, scope = f"method {method.name}", Scope(domain.classical, method.parameters)
        for edit, formula in edit_formula(method.precondition, scope):
            make = _with_method(problem, method, precondition=formula)
            yield Repair(place, "requires", edit.part, edit.words, edit.price, make)
        for edit, formula in edit_formula(method.network.constraints, scope):
            make = _with_method(problem, method, network=replace(method.network, constraints=formula))
            yield Repair(place, "requires", edit.part, edit.words, edit.price, make)
        for network, part, words, price in _edit_network(method.network, scope, tasks):
            field = "ordering" if network.subtasks == method.network.subtasks else "subtasks"
            yield Repair(place, field, part, words, price, _with_method(problem, method, network=network))
        for network, words in islice(_add_subtasks(method.network, scope, tasks), MOST_ADDED):
            make = _with_method(problem, method, network=network)
            yield Repair(place, "subtasks", "", words, UNLIKELY, make)
        yield from _retarget(problem, method, scope, tasks)


def _edit_network(network: Network, scope: Scope, tasks: _Tasks) -> Iterator[tuple[Network, Atom | str, str, int]]:
    """Yield networks with one subtask otherwise or less, or two in the other order; what changed, in words; a price."""
    for place, each in enumerate(network.subtasks):
        for new, price in tasks.others(each.task, scope):
            subtasks = (*network.subtasks[:place], replace(each, task=new), *network.subtasks[place + 1 :])
            words = f"with '{unmarked(new)}' for '{unmarked(each.task)}'"
            yield replace(network, subtasks=subtasks), each.task, words, price
    line = [network.subtasks[place] for place in network.linearisation]
    if not network.is_sequence:
        yield from _order_otherwise(network)
        return
    for one, other, turned in exchange(line):
        words = f"with '{unmarked(line[other].task)}' before '{unmarked(line[one].task)}'"
        yield _in_sequence(turned, network), line[one].task, words, LIKELY
    for place, each in enumerate(line):
        words = f"without '{unmarked(each.task)}'"
        yield _in_sequence([*line[:place], *line[place + 1 :]], network), each.task, words, UNLIKELY


def _order_otherwise(network: Network) -> Iterator[tuple[Network, Atom | str, str, int]]:
    """Yield networks with one pair of subtasks in the other order, or in an order where they had none."""
    after = transitive_successors(len(network.subtasks), network.ordering)
    for one, other in permutations(range(len(network.subtasks)), 2):
        if after[one] >> other & 1:
            continue
        rest = tuple([pair for pair in network.ordering if pair != (other, one)])
        changed = replace(network, ordering=(*rest, (one, other)))
        if changed.linearisation:
            first, second = network.subtasks[one].task, network.subtasks[other].task
            words = f"with '{unmarked(first)}' before '{unmarked(second)}'"
            yield changed, second, words, LIKELY if len(rest) < len(network.ordering) else FAIR


def _in_sequence(line: Sequence[Subtask], network: Network) -> Network:
    ordered = sequence(*[each.task for each in line], constraints=network.constraints)
    return replace(ordered, subtasks=tuple(line))


def _add_subtasks(network: Network, scope: Scope, tasks: _Tasks) -> Iterator[tuple[Network, str]]:
    """Yield networks with one more subtask, about parameters of the method."""
    line = [network.subtasks[place] for place in network.linearisation]
    for name, kinds in tasks.parameters.items():
        for args in permutations(scope.terms, len(kinds)):
            task = Atom(name, args)
            if not tasks.fits(task, scope) or any(each.task == task for each in line):
                continue
            if not network.is_sequence:
                more = replace(network, subtasks=(*network.subtasks, Subtask(task)))
                yield more, f"if it does {unmarked(task)}, too"
                continue
            for place in range(len(line) + 1):
                words = f"if it does {unmarked(task)}, too" + (
                    f", before {unmarked(line[place].task)}" if place < len(line) else ""
                )
                yield _in_sequence([*line[:place], Subtask(task), *line[place:]], network), words


def _retarget(problem: HtnProblem, method: Method, scope: Scope, tasks: _Tasks) -> Iterator[Repair]:
    """Yield `method` for another task, or with its task's arguments otherwise."""
    for new, price in tasks.others(method.task, scope):
        if new.predicate in problem.domain.tasks:
            words = f"if it is for the task {unmarked(new)}, and not for {unmarked(method.task)}"
            make = _with_method(problem, method, task=new)
            likely = price if new.predicate == method.task.predicate else UNLIKELY
            yield Repair(f"method {method.name}", "task", method.task, words, likely, make)


def _repair_network(problem: HtnProblem) -> Iterator[Repair]:
    """Yield the problem with one of its initial tasks otherwise."""
    tasks = _Tasks(problem.domain)
    objects = [Variable(each.name, each.types) for each in problem.classical.all_objects]
    scope = Scope(problem.domain.classical, [*problem.parameters, *objects])
    for network, part, words, price in _edit_network(problem.network, scope, tasks):
        if network.subtasks:
            changed = replace(problem, network=network)
            yield Repair("the initial tasks", "", part, words, price + 1, partial(seal_problem, changed))
