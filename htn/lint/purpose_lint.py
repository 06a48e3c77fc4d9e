"""Lint of what tasks are for: their empty methods say so, and what they need and give in every way says in which order.

A task with a method without subtasks, which requires `at(r, w)`, is done where that holds. Its other methods are
expected to bring that about, or to do the task again; one that brings about `at(r, next)` and ends does neither.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise

from htn.model import HtnDomain, Method, transitive_successors
from planner.lint.findings import Finding, Level, conjoined_atoms
from planner.model.formulas import (
    TRUE,
    Atom,
    Exists,
    Forall,
    Formula,
    Not,
    atoms_in,
    conjuncts,
    free_variables,
    is_variable,
    literals_in,
    substitute,
    unmarked,
)

Written = Mapping[str, frozenset[str]]
"""The predicates that an action, or what a task may lead to, writes."""


def check_purposes(domain: HtnDomain, written: Written) -> Iterator[Finding]:
    """Yield methods that begin what their task is for and end, and subtasks before what gives them what they need."""
    below, namesakes = _find_below(domain), _find_namesakes(domain)
    table = _Table(domain, written, _find_needs(domain, written), _find_gifts(domain, written))
    for method in domain.methods.values():
        yield from _check_repeated(method, domain)
        yield from _check_unused(method, domain)
        recurses = any(method.task.predicate in below[each.task.predicate] for each in method.network.subtasks)
        if method.network.subtasks and not recurses:
            yield from _check_end(method, table)
        yield from _check_open_end(method, domain)
        yield from _check_name(method, namesakes)
        yield from _check_order(method, table)


def _find_below(domain: HtnDomain) -> dict[str, frozenset[str]]:
    """Return the tasks and actions that each of them may lead to, itself included."""
    return spread({name: frozenset([name]) for name in (*domain.tasks, *domain.classical.actions)}, domain)


def spread(found: dict[str, frozenset[str]], domain: HtnDomain) -> dict[str, frozenset[str]]:
    """Extend what is `found` of tasks and actions by what is found of those that each task may lead to."""
    size = -1
    while size < (size := sum(map(len, found.values()))):
        for method in domain.methods.values():
            below = [found.get(each.task.predicate, frozenset()) for each in method.network.subtasks]
            found[method.task.predicate] = found[method.task.predicate].union(*below)
    return found


def _check_repeated(method: Method, domain: HtnDomain) -> Iterator[Finding]:
    """Yield an action that a method does twice with nothing between, though once would do."""
    tasks = [method.network.subtasks[place].task for place in method.network.linearisation]
    for one, other in pairwise(tasks):
        action = domain.classical.actions.get(one.predicate)
        if one == other and action is not None and not any(x.numbers for x in action.effects) and not action.outcomes:
            message, hint = f"its subtask {unmarked(one)} stands twice", "should one of them be about something else?"
            yield Finding(Level.HINT, "repeated-part", f"method {method.name}", message, hint, "subtasks", one)


def _check_unused(method: Method, domain: HtnDomain) -> Iterator[Finding]:
    """Yield an argument of the task that a method leaves out, though all other methods do something with it."""
    others = [x for x in domain.methods_for(method.task.predicate) if x.network.subtasks and x is not method]
    if not others or any(_is_less_work(method, each, domain) for each in others):
        return
    for place, arg in enumerate(method.task.args):
        if is_variable(arg) and arg not in _terms_in(method) and all(_uses(each, place) for each in others):
            name = arg.removeprefix("?")
            message = f"it does nothing with '{name}', which all other methods for {method.task.predicate} use"
            hint = "should a subtask be about it?"
            yield Finding(Level.HINT, "unused-argument", f"method {method.name}", message, hint, "subtasks", name)


def _is_less_work(method: Method, other: Method, domain: HtnDomain) -> bool:
    """Return whether `method` does less than `other`, or `other` does its task again: `method` may be its end."""
    tasks = [each.task.predicate for each in other.network.subtasks]
    return _count_work(method, domain) < _count_work(other, domain) or method.task.predicate in tasks


def _count_work(method: Method, domain: HtnDomain) -> int:
    """Return the number of subtasks that are not actions without an effect."""
    actions = domain.classical.actions
    idle = {name for name, x in actions.items() if not any(y.provides or y.modifies or y.numbers for y in x.effects)}
    return sum(each.task.predicate not in idle for each in method.network.subtasks)


def _terms_in(method: Method) -> set[str]:
    return {arg for each in method.network.subtasks for arg in each.task.args} | set(
        free_variables(method.precondition)
    )


def _uses(method: Method, place: int) -> bool:
    return any(method.task.args[place] in each.task.args for each in method.network.subtasks)


def _check_end(method: Method, table: _Table) -> Iterator[Finding]:
    """Yield that `method` changes what the last method of its task asks for, and does not bring that about."""
    again = unmarked(method.task)
    for empty in table.domain.methods_for(method.task.predicate):
        if empty is method:
            continue
        binding = dict(zip(empty.task.args, method.task.args, strict=True))
        for part in conjuncts(empty.precondition):
            whole = isinstance(part, Forall) or not empty.network.subtasks  # the last of many does something, too
            made = _find_beginning(substitute(part, binding), method, table) if whole else ""
            if made:
                message = f"it brings about {made}, and ends; method {empty.name} takes the task for done only where"
                message += f" {unmarked(part)}"
                hint = f"should {again} be its last subtask?"
                yield Finding(Level.WARNING, "unfinished-task", f"method {method.name}", message, hint, "subtasks")
                return


def _check_open_end(method: Method, domain: HtnDomain) -> Iterator[Finding]:
    """Yield a method that ends its task wherever it stands, though the arguments of a sister say where it leads."""
    if method.network.subtasks or method.precondition != TRUE or method.network.constraints != TRUE:
        return
    for sister in domain.methods_for(method.task.predicate):
        if any(each.task == sister.task for each in sister.network.subtasks) and sister.task.args:
            message = (
                f"it requires nothing and does nothing, so that {method.task.predicate} may end before {sister.name}"
            )
            message += " has done anything"
            hint = "require what is so where the task is done"
            yield Finding(Level.HINT, "open-case", f"method {method.name}", message, hint, "task")
            return


def _find_namesakes(domain: HtnDomain) -> dict[str, list[Method]]:
    """Return the methods whose names begin with that of a task, by the tasks, in the order of declaration."""
    found: dict[str, list[Method]] = {name: [] for name in domain.tasks}
    for method in domain.methods.values():
        for end in re.finditer("[-_]", method.name):
            if method.name[: end.start()] in found:
                found[method.name[: end.start()]].append(method)
    return found


def _check_name(method: Method, namesakes: Mapping[str, list[Method]]) -> Iterator[Finding]:
    """Yield a method that has the name of another task before its own, as all methods for that task do."""
    own = method.task.predicate
    if _is_named_after(method, own):
        return
    tasks = {method.name[: end.start()] for end in re.finditer("[-_]", method.name)}
    for task in [each for each in namesakes if each in tasks]:
        others = [each.task.predicate for each in namesakes[task] if each is not method]
        if task != own and set(others) == {task}:
            message = f"it is for {unmarked(method.task)}, though its name is like those of methods for {task}"
            hint = f"should it be for {task}?"
            yield Finding(Level.HINT, "other-task", f"method {method.name}", message, hint, "task", method.task)


def _is_named_after(method: Method, task: str) -> bool:
    return method.name.startswith((f"{task}-", f"{task}_"))


def _find_beginning(part: Formula, method: Method, table: _Table) -> str:
    """Return what `method` gives of a predicate that `part` asks for, where that is not `part` itself; else ""."""
    names = {atom.predicate for atom, truth in literals_in(part) if truth}
    gifts: list[Atom] = []
    for each in method.network.subtasks:
        own = [x for x in table.gifts(each.task) if x.predicate in names]
        if not own and names & table.written[each.task.predicate]:
            return ""
        gifts += sorted(own, key=str)
    free = {arg for gift in gifts for arg in gift.args if is_variable(arg)} - {*method.task.args}
    if not gifts or not free:
        return ""
    if isinstance(part, Atom):
        return "" if part in gifts or not {*part.args} <= {*method.task.args} else unmarked(gifts[-1])
    is_whole = isinstance(part, Forall) or (isinstance(part, Not) and isinstance(part.part, Exists))
    return unmarked(gifts[-1]) if is_whole else ""


@dataclass(frozen=True, slots=True)
class _Table:
    """What the tasks and actions of `domain` write, need and give."""

    domain: HtnDomain
    written: Written
    needed: Mapping[str, frozenset[Atom]]
    given: Mapping[str, frozenset[Atom]]

    def needs(self, task: Atom) -> set[Atom]:
        """Return what `task` needs from before it in each way."""
        return bind(self.needed[task.predicate], task, self.domain)

    def gifts(self, task: Atom) -> set[Atom]:
        """Return what `task` gives in each way."""
        return bind(self.given[task.predicate], task, self.domain)


def _find_needs(domain: HtnDomain, written: Written) -> dict[str, frozenset[Atom]]:
    """Return the facts about its parameters that each task and action needs from before it in each way."""
    found = {each.name: frozenset(conjoined_atoms(each.requires)) for each in domain.classical.actions.values()}
    found |= dict.fromkeys(domain.tasks, frozenset())
    return _close(found, domain, lambda method: _needs_of(method, found, domain, written))


def _needs_of(method: Method, found: Mapping[str, frozenset[Atom]], domain: HtnDomain, written: Written) -> set[Atom]:
    needs = set(conjoined_atoms(method.precondition))
    tasks = [each.task for each in method.network.subtasks]
    for place, task in enumerate(tasks):
        others = frozenset[str]().union(*[written[x.predicate] for n, x in enumerate(tasks) if n != place])
        needs |= {x for x in bind(found[task.predicate], task, domain) if x.predicate not in others}
    return needs


def _find_gifts(domain: HtnDomain, written: Written) -> dict[str, frozenset[Atom]]:
    """Return the facts about its parameters that each task and action gives in each way."""
    found: dict[str, frozenset[Atom]] = {}
    for action in domain.classical.actions.values():
        sure = [each for each in action.effects if each.requires == TRUE and not each.variables]
        given = {atom for each in sure for atom in each.provides if isinstance(atom, Atom)}
        found[action.name] = frozenset(given if not action.outcomes else ())
    found |= dict.fromkeys(domain.tasks, frozenset())
    return _close(found, domain, lambda method: _gifts_of(method, found, domain, written))


def _gifts_of(method: Method, found: Mapping[str, frozenset[Atom]], domain: HtnDomain, written: Written) -> set[Atom]:
    gifts = set() if method.network.subtasks else set(conjoined_atoms(method.precondition))
    tasks = [each.task for each in method.network.subtasks]
    for place, task in enumerate(tasks):
        others = frozenset[str]().union(*[written[x.predicate] for n, x in enumerate(tasks) if n != place])
        gifts |= {x for x in bind(found[task.predicate], task, domain) if x.predicate not in others}
    return gifts


def bind(atoms: Iterable[Atom], task: Atom, domain: HtnDomain) -> set[Atom]:
    """Return `atoms` about the parameters of a task or action as its caller `task` has them."""
    return {
        atom.substitute(dict(zip(_parameters_of(task.predicate, domain), task.args, strict=False))) for atom in atoms
    }


def _parameters_of(name: str, domain: HtnDomain) -> list[str]:
    owner = domain.tasks.get(name) or domain.classical.actions[name]
    return [each.name for each in owner.parameters]


def _close(
    found: dict[str, frozenset[Atom]], domain: HtnDomain, collect: Callable[[Method], set[Atom]]
) -> dict[str, frozenset[Atom]]:
    """Extend `found` to tasks by what all their methods have in common, until nothing is new."""
    size = -1
    while size < (size := sum(map(len, found.values()))):
        for name in domain.tasks:
            ways = []
            for method in domain.methods_for(name):
                binding = dict(zip(method.task.args, _parameters_of(name, domain), strict=True))
                known = {*method.task.args}
                own = [x for x in collect(method) if all(arg in known or not is_variable(arg) for arg in x.args)]
                ways.append({x.substitute(binding) for x in own})
            found[name] = frozenset(set.intersection(*ways)) if ways else frozenset()
    return found


def _check_order(method: Method, table: _Table) -> Iterator[Finding]:
    """Yield a subtask that needs what only one after it gives; where all are actions in a row, others tell that."""
    network = method.network
    tasks = [each.task for each in network.subtasks]
    if network.is_sequence and all(each.predicate in table.domain.classical.actions for each in tasks):
        return
    after = transitive_successors(len(tasks), network.ordering)
    known = set(atoms_in(method.precondition))
    for place, task in enumerate(tasks):
        for need in sorted(table.needs(task) - known, key=str):
            writers = [n for n, x in enumerate(tasks) if need.predicate in table.written[x.predicate]]
            later = [n for n in writers if after[place] >> n & 1]
            giver = next((tasks[n] for n in later if need in table.gifts(tasks[n])), None)
            if giver is not None and later == writers:
                yield _report_order(method, task, need, giver)
                return


def _report_order(method: Method, task: Atom, need: Atom, giver: Atom) -> Finding:
    message = f"its subtask {unmarked(task)} needs {unmarked(need)}, which only {unmarked(giver)} after it provides"
    field = "subtasks" if method.network.is_sequence else "ordering"
    hint = "change their order, or require it of the method"
    return Finding(Level.HINT, "wrong-order", f"method {method.name}", message, hint, field, task.predicate)
