"""Lint of what methods do in their order: each is followed symbolically, from what it requires through its subtasks.

A literal over the parameters of a method is known where the method requires it, a subtask before needs it, or one has
made it so; what compound subtasks may write is unknown after them. So it shows where a subtask needs what an earlier
one ended, where it needs what only a later one gives, and where a method changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from htn.lint.purpose_lint import check_purposes, spread
from htn.model import HtnDomain, Method
from planner.lightweight import replace
from planner.lint.findings import Finding, Level, Mend, collect_usage, ended_atoms, provided_atoms
from planner.lint.item_lint import Item, balanced_items, declared_items
from planner.lint.number_lint import slopes_of
from planner.lint.timed_lint import flatten_moments
from planner.model.actions import Action, negated_atoms, positive_atoms
from planner.model.domain import numeric_effects, written_predicates
from planner.model.formulas import OPEN, TRUE, Atom, Comparison, Formula, Not, atoms_in, conjuncts, unmarked


def check_methods(domain: HtnDomain, wanted: frozenset[str], *, in_turn: bool) -> Iterator[Finding]:
    """Yield what is wrong with the order and the effects of subtasks; `wanted` are predicates that goals mention.

    `in_turn` says that the initial tasks are done one after the other, so that none interferes with another.
    """
    flat = replace(domain, classical=flatten_moments(domain.classical))
    sequential = in_turn and all(each.network.is_sequence for each in domain.methods.values())
    known = replace(_Known.of(flat, wanted), sequential=sequential)
    yield from check_purposes(known.domain, known.written)
    for method in domain.methods.values():
        yield from _check_endless(method, known)
        if method.network.is_sequence:
            yield from _follow(method, known)


@dataclass(frozen=True, slots=True)
class _Known:
    """What the checks of all methods need: what tasks may write, which items there are, which facts are asked for."""

    domain: HtnDomain
    written: dict[str, frozenset[str]]
    """The predicates that an action, or what a task may lead to, writes."""
    items: tuple[Item, ...]
    asked: frozenset[str]
    changing: frozenset[str]
    sequential: bool = True
    """Whether nothing happens between the subtasks of a method but what they do."""

    @classmethod
    def of(cls, domain: HtnDomain, wanted: frozenset[str]) -> _Known:
        classical = domain.classical
        items = tuple(dict.fromkeys([*declared_items(classical), *balanced_items(classical)]))
        asked = {atom.predicate for each in domain.methods.values() for atom in atoms_in(each.precondition)}
        asked |= {*collect_usage(classical).required, *wanted}
        changing = written_predicates(classical) | {*classical.derived}
        return cls(domain, _find_written(domain), items, frozenset(asked), frozenset(changing))

    def action(self, task: Atom) -> Action | None:
        """Return the action that `task` is, None for a compound one."""
        return self.domain.classical.actions.get(task.predicate)


def _find_written(domain: HtnDomain) -> dict[str, frozenset[str]]:
    found = {
        each.name: frozenset(atom.predicate for atom in (*provided_atoms(each), *ended_atoms(each), *each.senses))
        | {effect.fluent.predicate for effect in numeric_effects(each)}
        for each in domain.classical.actions.values()
    }
    return spread(found | dict.fromkeys(domain.tasks, frozenset()), domain)


@dataclass(slots=True)
class _State:
    """The literals that are known, each with its truth, and who made it so: a subtask, or "" for the method itself."""

    truth: dict[Atom, bool] = field(default_factory=dict)
    source: dict[Atom, str] = field(default_factory=dict)

    def put(self, atom: Atom, truth: bool, source: str) -> None:
        self.truth[atom], self.source[atom] = truth, source

    def forget(self, predicates: Iterable[str]) -> None:
        for name in predicates:
            for atom in [each for each in self.truth if each.predicate == name]:
                del self.truth[atom]

    def end(self, pattern: Atom, source: str) -> None:
        """Make what `pattern` covers false; what it may cover, where parameters are equal, becomes unknown."""
        for atom in [each for each in self.truth if each.predicate == pattern.predicate]:
            if pattern.matches(atom):
                self.put(atom, False, source)
            elif self.truth[atom]:
                del self.truth[atom]
        if OPEN not in pattern.args:
            self.put(pattern, False, source)

    def give(self, fact: Atom, source: str) -> None:
        """Make `fact` true; facts of its predicate that are false may be the same one."""
        for atom in [each for each, truth in self.truth.items() if each.predicate == fact.predicate and not truth]:
            del self.truth[atom]
        self.put(fact, True, source)


def literals_of(formula: Formula) -> Iterator[tuple[Atom, bool]]:
    """Yield the literals among the conjuncts of `formula`, each with its truth."""
    for part in conjuncts(formula):
        if isinstance(part, Atom):
            yield part, True
        elif isinstance(part, Not) and isinstance(part.part, Atom):
            yield part.part, False


def _follow(method: Method, known: _Known) -> Iterator[Finding]:
    """Yield the first subtask of `method` that can never begin, and those that change nothing."""
    state = _State()
    for atom, truth in literals_of(method.precondition):
        state.put(atom, truth, "")
    tasks = [method.network.subtasks[place].task for place in method.network.linearisation]
    for place, task in enumerate(tasks):
        action = known.action(task)
        if action is None:
            state.forget(known.written.get(task.predicate, ()))
            continue
        step = _Step(method, task, action, tuple(tasks[:place]), tuple(tasks[place + 1 :]))
        needs = list(step.needs())
        found = next(_find_faults(step, needs, state, known), None)
        if found is not None:
            yield found
            return
        yield from _check_idle(step, state)
        for atom, truth in needs:
            if atom not in state.truth:
                state.put(atom, truth, unmarked(task))
        _apply(step, state)


@dataclass(frozen=True, slots=True)
class _Step:
    """A subtask of a method that is an action, and the subtasks around it."""

    method: Method
    task: Atom
    action: Action
    earlier: tuple[Atom, ...]
    later: tuple[Atom, ...]

    @property
    def binding(self) -> dict[str, str]:
        return {each.name: arg for each, arg in zip(self.action.parameters, self.task.args, strict=False)}

    def needs(self) -> Iterator[tuple[Atom, bool]]:
        """Yield the literals that must hold before the step."""
        return ((atom.substitute(self.binding), truth) for atom, truth in literals_of(self.action.requires))


def _apply(step: _Step, state: _State) -> None:
    """Change `state` as the step does; what depends on conditions, chance or the place in the step is unknown then."""
    action, binding, source = step.action, step.binding, unmarked(step.task)
    sure = [each for each in action.effects if each.requires == TRUE and not each.variables]
    unsure = [each for each in action.effects if each not in sure]
    if action.outcomes or action.senses:
        state.forget({atom.predicate for atom in (*provided_atoms(action), *ended_atoms(action), *action.senses)})
        return
    for effect in sure:
        for atom in effect.retracted:
            state.end(atom.substitute(binding), source)
    for effect in sure:
        for atom in positive_atoms(effect.provides):
            state.give(atom.substitute(binding), source)
    state.forget({x.predicate for each in unsure for x in (*positive_atoms(each.provides), *each.modifies)})
    state.forget({x.predicate for each in unsure for x in negated_atoms(each.provides)})


def _find_faults(step: _Step, needs: list[tuple[Atom, bool]], state: _State, known: _Known) -> Iterator[Finding]:
    """Yield why the step can never begin in `state`, or begins only if what it needs was so before the method."""
    for atom, truth in needs:
        if state.truth.get(atom, truth) is not truth:
            yield _report_clash(step, atom, state.source[atom], known, truth=truth)
        elif truth and atom not in state.truth:
            yield from _find_swap(step, atom, state, known)
            yield from _find_later(step, atom, known)


def _report_clash(step: _Step, atom: Atom, source: str, known: _Known, *, truth: bool) -> Finding:
    """Return the finding that the step needs what the method, or the step `source` before it, excludes."""
    written = unmarked(atom) if truth else f"not {unmarked(atom)}"
    level = Level.ERROR if known.sequential else Level.HINT
    place = f"method {step.method.name}"
    if not source:
        other = f"not {unmarked(atom)}" if truth else unmarked(atom)
        message = f"it can never apply: it requires {other}, and its subtask {unmarked(step.task)} needs {written}"
        return Finding(level, "contradicting-requires", place, message, "", "requires", atom)
    message = f"its subtask {unmarked(step.task)} needs {written}, which {source} before it rules out"
    spare = _find_spare(source, step, known) if truth else ""
    if spare:
        message = f"it needs {written}, which {source} ends before it in {place}"
        hint = f"nothing requires {spare}, which {source} provides: is that meant here?"
        return Finding(level, "wrong-order", f"action {step.action.name}", message, hint, "requires", atom.predicate)
    hint = "look at the order of the subtasks, and at what they need"
    return Finding(level, "wrong-order", place, message, hint, "subtasks", step.task)


def _find_spare(source: str, step: _Step, known: _Known) -> str:
    """Return the predicate that the subtask `source` provides and nothing asks for, or ""."""
    name = source.partition("(")[0]
    action = known.domain.classical.actions.get(name)
    given = [] if action is None else provided_atoms(action)
    return next((x.predicate for x in given if x.predicate not in known.asked and name != step.action.name), "")


def _find_swap(step: _Step, atom: Atom, state: _State, known: _Known) -> Iterator[Finding]:
    """Yield that two arguments of the step are swapped: so it needs another value of an item than is known."""
    args = step.task.args
    kinds = [each.types for each in step.action.parameters]
    args = args[: len(kinds)]  # the others name what the action creates
    for one in range(len(args)):
        for other in range(one + 1, len(args)):
            if kinds[one] != kinds[other] or args[one] == args[other]:
                continue
            turned = list(step.task.args)
            turned[one], turned[other] = args[other], args[one]
            swap = {args[one]: args[other], args[other]: args[one]}
            meant = atom.substitute(swap)
            if state.truth.get(meant) is True and _are_values(atom, meant, known):
                new = unmarked(Atom(step.task.predicate, tuple(turned)))
                message = f"its subtask {unmarked(step.task)} needs {unmarked(atom)}, but {unmarked(meant)} holds then"
                mend = Mend("replace", "subtasks", unmarked(step.task), new)
                place, hint = f"method {step.method.name}", f"should it be {new}?"
                yield Finding(
                    Level.WARNING, "swapped-arguments", place, message, hint, "subtasks", step.task, mend=mend
                )
                return


def _are_values(one: Atom, other: Atom, known: _Known) -> bool:
    """Return whether both are values of one item, which has one at a time."""
    return any(item.predicate == one.predicate and item.key(one) == item.key(other) for item in known.items)


def _find_later(step: _Step, atom: Atom, known: _Known) -> Iterator[Finding]:
    """Yield that a later subtask gives what this one needs, and nothing between them ends it."""
    if any(atom.predicate in known.written.get(each.predicate, ()) for each in (*step.earlier, step.task)):
        return
    for task in step.later:
        action = known.action(task)
        if action is None:
            if atom.predicate in known.written.get(task.predicate, ()):
                return
            continue
        binding = {each.name: arg for each, arg in zip(action.parameters, task.args, strict=False)}
        if any(each.substitute(binding) == atom for each in positive_atoms(action.provides)):
            message = f"its subtask {unmarked(step.task)} needs {unmarked(atom)}"
            message += f", which only {unmarked(task)} after it provides"
            place, hint = f"method {step.method.name}", "change their order, or require it of the method"
            yield Finding(Level.WARNING, "wrong-order", place, message, hint, "subtasks", step.task)
            return
        if any(each.predicate == atom.predicate for each in ended_atoms(action)):
            return


def _check_idle(step: _Step, state: _State) -> Iterator[Finding]:
    """Yield that the step provides what the method requires, and changes nothing else."""
    action = step.action
    plain_effects = [each for each in action.effects if each.requires == TRUE and not each.variables]
    rest = (
        action.outcomes or action.senses or action.creates or action.lists or any(True for _ in numeric_effects(action))
    )
    given = [each.substitute(step.binding) for each in provided_atoms(action)]
    if rest or len(plain_effects) < len(action.effects) or ended_atoms(action) or not given:
        return
    needed = dict(step.needs())
    if all(state.truth.get(each) is True and state.source[each] == "" and each not in needed for each in given):
        message = f"its subtask {unmarked(step.task)} provides {unmarked(given[0])}"
        message += ", which the method requires: nothing changes"
        place, hint = f"method {step.method.name}", f"should it require not {unmarked(given[0])}?"
        yield Finding(Level.WARNING, "known-effect", place, message, hint, "requires", given[0])


def _check_endless(method: Method, known: _Known) -> Iterator[Finding]:
    """Yield that `method` does its own task again, and changes nothing of a condition that is meant to end."""
    others = [each.task for each in method.network.subtasks if each.task != method.task]
    if method.network.subtasks and not others:
        message = f"it does nothing but {method.task.predicate} again, and so never comes nearer to its end"
        place, hint = f"method {method.name}", "should one of the subtasks be another task or action?"
        yield Finding(Level.WARNING, "endless-method", place, message, hint, "subtasks")
        return
    if len(others) == len(method.network.subtasks) or not others:
        return
    is_first = method.network.is_sequence and method.network.subtasks[0].task == method.task
    if is_first and len(known.domain.methods_for(method.task.predicate)) > 1:
        message = f"it does {unmarked(method.task)} again before anything has changed"
        hint = "should that come after the other subtasks?"
        yield Finding(Level.HINT, "endless-method", f"method {method.name}", message, hint, "subtasks")
        return
    written = frozenset[str]().union(*[known.written.get(each.predicate, frozenset()) for each in others])
    ways = [_ways_of(part, others, known) for part in conjuncts(method.precondition) if isinstance(part, Comparison)]
    names = {atom.predicate for atom in atoms_in(method.precondition)}
    guards = names & known.changing
    if names & written or not all(ways) or not (ways or guards):
        return
    first = next((part for part in conjuncts(method.precondition) if isinstance(part, Comparison)), None)
    kept = unmarked(first) if first is not None else " and ".join(sorted(guards))
    message = f"it does {unmarked(method.task)} again, and nothing that it does before ends {kept}: it may run for ever"
    level = Level.WARNING if ways else Level.HINT
    hint, part = "let a subtask change that, or turn the condition", first.functions[0].predicate if first else ""
    yield Finding(level, "endless-method", f"method {method.name}", message, hint, "requires", part)


def _ways_of(comparison: Comparison, others: list[Atom], known: _Known) -> bool:
    """Return whether the effects of the actions `others` never move the sides of `comparison` towards its end."""
    slopes = dict(slopes_of(comparison))
    for task in others:
        action = known.action(task)
        written = known.written.get(task.predicate, frozenset())
        touched = [term.predicate for term in comparison.functions if term.predicate in written]
        if not touched:
            continue
        if action is None or any(name not in slopes for name in touched):
            return False
        for effect in numeric_effects(action):
            wanted = slopes.get(effect.fluent.predicate)
            rises = effect.operator == "+="
            if wanted is not None and not (effect.is_additive and isinstance(effect.value, int) and effect.value > 0):
                return False
            if wanted is not None and (wanted > 0) is not rises:
                return False
    return True
