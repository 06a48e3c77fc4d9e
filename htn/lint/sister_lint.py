"""Lint of methods beside their sisters, which are for the same task: cases that overlap, and recursions that go astray.

What a task *makes sure of* holds after it whichever methods are chosen: a greatest fixpoint over the methods, in which
a method without subtasks gives what it requires. A method that does its own task again with an argument of which its
subtasks made sure already stops there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import reduce

from htn.lint.purpose_lint import bind, spread
from htn.model import HtnDomain, Method
from planner.lightweight import replace
from planner.lint.findings import Finding, Level, conjoined_atoms, ended_atoms
from planner.lint.parameter_lint import check_widths
from planner.lint.timed_lint import flatten_moments
from planner.model.actions import positive_atoms
from planner.model.domain import written_predicates
from planner.model.formulas import (
    TRUE,
    Atom,
    Formula,
    Not,
    Variable,
    atoms_in,
    conjuncts,
    free_variables,
    is_variable,
    substitute,
    unmarked,
)


def check_sisters(domain: HtnDomain) -> Iterator[Finding]:
    """Yield what is wrong with methods beside the others for their tasks, and types of their parameters."""
    domain = replace(domain, classical=flatten_moments(domain.classical))
    owners: dict[str, tuple[Variable, ...]] = {name: each.parameters for name, each in domain.tasks.items()}
    owners |= {name: each.parameters for name, each in domain.classical.actions.items()}
    gifts = find_gifts(domain)
    for method in domain.methods.values():
        atoms = [*atoms_in(method.precondition), method.task, *[each.task for each in method.network.subtasks]]
        yield from check_widths(f"method {method.name}", method.parameters, atoms, domain.classical, owners)
        yield from _check_recursion(method, domain, gifts)
        yield from _check_late(method, domain, gifts)
    for name in domain.tasks:
        yield from _check_overlaps(domain.methods_for(name))


@dataclass(frozen=True, slots=True)
class Gifts:
    """The facts about its parameters that a task or action makes sure of; `all` of those that are known, at first."""

    facts: frozenset[Atom] = frozenset()
    is_all: bool = False

    def meet(self, other: Gifts) -> Gifts:
        """Return what both make sure of."""
        if self.is_all or other.is_all:
            return other if self.is_all else self
        return Gifts(self.facts & other.facts)


def find_gifts(domain: HtnDomain) -> dict[str, Gifts]:
    """Return what each task and action makes sure of."""
    found = {}
    for action in domain.classical.actions.values():
        sure = [each for each in action.effects if each.requires == TRUE and not each.variables]
        given = frozenset(atom for each in sure for atom in positive_atoms(each.provides))
        kept = frozenset(
            x for x in conjoined_atoms(action.requires) if all(x.predicate != y.predicate for y in ended_atoms(action))
        )
        found[action.name] = Gifts(frozenset() if action.outcomes else given | kept)
    found |= dict.fromkeys(domain.tasks, Gifts(is_all=True))
    written = _find_ended(domain)
    for _ in range(len(domain.tasks) + 1):
        before = dict(found)
        for name, task in domain.tasks.items():
            ways = [
                _lift(method, _gifts_of(method, found, domain, written), task.parameters)
                for method in domain.methods_for(name)
            ]
            found[name] = reduce(Gifts.meet, ways, Gifts(is_all=True)) if ways else Gifts()
        if found == before:
            break
    return {name: Gifts() if each.is_all else each for name, each in found.items()}


def _find_ended(domain: HtnDomain) -> dict[str, frozenset[str]]:
    """Return the predicates of which each action, or what a task leads to, ends facts."""
    found = {each.name: frozenset(x.predicate for x in ended_atoms(each)) for each in domain.classical.actions.values()}
    return spread(found | dict.fromkeys(domain.tasks, frozenset()), domain)


def _gifts_of(
    method: Method, found: Mapping[str, Gifts], domain: HtnDomain, ended: Mapping[str, frozenset[str]]
) -> Gifts:
    """Return what `method` makes sure of, in its parameters: what a subtask gives and none after it ends."""
    tasks = [method.network.subtasks[place].task for place in method.network.linearisation]
    if not method.network.is_sequence and len(tasks) > 1:
        return Gifts()
    facts = set(conjoined_atoms(method.precondition))
    for task in tasks:
        own = found[task.predicate]
        if own.is_all:
            return Gifts(is_all=True)
        facts = {x for x in facts if x.predicate not in ended[task.predicate]} | bind(own.facts, task, domain)
    return Gifts(frozenset(facts))


def _lift(method: Method, gifts: Gifts, parameters: tuple[Variable, ...]) -> Gifts:
    """Return `gifts` of a method in the parameters of its task."""
    binding = {arg: each.name for arg, each in zip(method.task.args, parameters, strict=True)}
    facts = [x for x in gifts.facts if all(arg in binding or not is_variable(arg) for arg in x.args)]
    return Gifts(frozenset(x.substitute(binding) for x in facts), gifts.is_all)


def _check_recursion(method: Method, domain: HtnDomain, gifts: Mapping[str, Gifts]) -> Iterator[Finding]:
    """Yield that a method does its task again for what the subtask before made sure of: it stops there at once."""
    tasks = [method.network.subtasks[place].task for place in method.network.linearisation]
    if not method.network.is_sequence or len(tasks) < 2:
        return
    again, before = tasks[-1], tasks[-2]
    if again.predicate != method.task.predicate or again.args == method.task.args:
        return
    sure = bind(gifts[before.predicate].facts, before, domain)
    for empty in domain.methods_for(again.predicate):
        binding = dict(zip(empty.task.args, again.args, strict=True))
        needs = {atom.substitute(binding) for atom in conjoined_atoms(empty.precondition)}
        if not empty.network.subtasks and needs and needs <= sure:
            meant = unmarked(method.task)
            message = (
                f"it ends with {unmarked(again)}, for which nothing is left to do: {unmarked(before)} makes"
                f" {unmarked(min(needs, key=str))} true, and then {empty.name} ends it"
            )
            place, hint = f"method {method.name}", f"should it be {meant}?"
            yield Finding(Level.WARNING, "idle-recursion", place, message, hint, "subtasks", again)
            return


def _check_late(method: Method, domain: HtnDomain, gifts: Mapping[str, Gifts]) -> Iterator[Finding]:
    """Yield an action that needs what a task after it makes sure of, and one before it made otherwise."""
    tasks = [method.network.subtasks[place].task for place in method.network.linearisation]
    if not method.network.is_sequence:
        return
    known, changing = set(conjoined_atoms(method.precondition)), written_predicates(domain.classical)
    for place, task in enumerate(tasks):
        action = domain.classical.actions.get(task.predicate)
        for need in bind(conjoined_atoms(action.requires), task, domain) - known if action else ():
            earlier = [bind(gifts[each.predicate].facts, each, domain) for each in tasks[:place]]
            other = next((x for own in earlier for x in own if _is_other(x, need)), None)
            if other is None or need.predicate not in changing or any(need in own for own in earlier):
                continue
            giver = next((x for x in tasks[place + 1 :] if need in bind(gifts[x.predicate].facts, x, domain)), None)
            if giver is not None and giver.predicate in domain.tasks:
                message = (
                    f"its subtask {unmarked(task)} needs {unmarked(need)}, which {unmarked(giver)} after it makes"
                    f" sure of; before it, only {unmarked(other)} is sure"
                )
                hint = "change their order, or require it of the method"
                yield Finding(Level.WARNING, "wrong-order", f"method {method.name}", message, hint, "subtasks", task)
                return


def _is_other(fact: Atom, need: Atom) -> bool:
    """Return whether `fact` is like `need` but for one argument, as another place of the same thing is."""
    return (
        fact.predicate == need.predicate
        and len(need.args) > 1
        and sum(x != y for x, y in zip(fact.args, need.args, strict=True)) == 1
    )


def _check_overlaps(methods: tuple[Method, ...] | list[Method]) -> Iterator[Finding]:
    """Yield a method that applies wherever a sister does which does more: the rest of that can be left out."""
    for general in methods:
        for special in methods:
            extra = _find_extra(general, special) if general is not special else None
            if extra is not None and _does_more(special, general):
                opposite = unmarked(extra.part if isinstance(extra, Not) else Not(extra))
                message = (
                    f"it applies wherever its sister {special.name} does, which requires {unmarked(extra)} besides and"
                    " does more: that can be left out always"
                )
                bound = free_variables(extra) <= {*general.task.args}
                hint = f"should it require {opposite}?" if bound else f"should it exclude {unmarked(extra)}?"
                yield Finding(Level.HINT, "open-case", f"method {general.name}", message, hint, "requires")
                return


def _find_extra(general: Method, special: Method) -> Formula | None:
    """Return what `special` requires besides all that `general` does, in the parameters of the latter's task."""
    binding = dict(zip(special.task.args, general.task.args, strict=True))
    own = {*conjuncts(general.precondition)} - {TRUE}
    its = [substitute(part, binding) for part in conjuncts(special.precondition)]
    more = [part for part in its if part not in own]
    changing = [x for x in more if isinstance(x, Atom | Not)]
    return changing[-1] if own and own <= set(its) and changing and len(changing) == len(more) else None


def _does_more(special: Method, general: Method) -> bool:
    """Return whether `special` does what `general` does and more, or something first and then the task again."""
    binding = dict(zip(special.task.args, general.task.args, strict=True))
    its = [each.task.substitute(binding).predicate for each in special.network.subtasks]
    own = [each.task.predicate for each in general.network.subtasks]
    if not own:
        return False
    again = special.task.predicate
    includes = len(its) > len(own) and all(its.count(name) >= own.count(name) for name in own)
    return includes or (its[-1:] == [again] and len(its) > 1 and again not in own)
