"""Lint of time: capacities, windows and deadlines; and actions as all other checks see them, without their moments."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction

from planner.compilations.sequential_steps import Regression
from planner.errors import PlanError, UnsupportedError
from planner.lightweight import Final, dataclass, replace
from planner.lint.findings import Finding, Level
from planner.model.actions import NO_MOMENT, Action, DurationRange, Moment, When, negated_atoms, positive_atoms
from planner.model.arithmetic import Exact, exact_value, show_number
from planner.model.domain import DomainModel, conditions_of, written_predicates
from planner.model.formulas import (
    OPEN,
    TRUE,
    Arithmetic,
    Atom,
    Not,
    Number,
    atoms_in,
    comparisons_in,
    conjunction,
    conjuncts,
    functions_in,
    is_variable,
    unmarked,
)
from planner.model.problem import Problem, is_temporal
from planner.semantics.changes_to_come import depends_on, find_changing
from planner.semantics.durations import as_seconds
from planner.semantics.numeric_state import Values
from planner.semantics.snap_actions import ends_early, split_moments, sum_of, takes_no_time


def flatten_moments(domain: DomainModel) -> DomainModel:
    """Return `domain` with actions that require and change at once all that they do at their moments.

    What a start provides for the middle or the end of its own step is not required.
    """
    if not any(action.has_moments for action in domain.actions.values()):
        return domain
    return replace(domain, actions={name: _flatten(action) for name, action in domain.actions.items()})


def _flatten(action: Action) -> Action:
    if not action.has_moments:
        return action
    start, throughout, end = split_moments(action)
    needs = [*conjuncts(start.requires)]
    ending = action.at_end.when
    with contextlib.suppress(UnsupportedError):
        through = Regression.through(start, throughout)
        needs += [*conjuncts(through.regress(throughout)), *conjuncts(through.regress(end.requires))]
        ending = tuple([replace(each, requires=through.regress(each.requires)) for each in ending])
    first = When(TRUE, action.at_start.provides, action.at_start.modifies, numbers=action.at_start.numbers)
    last = When(TRUE, action.at_end.provides, action.at_end.modifies, numbers=action.at_end.numbers)
    moments = [each for each in (first, last) if each.provides or each.modifies or each.numbers]
    return replace(
        action,
        requires=conjunction(list(dict.fromkeys(needs))),
        when=(*moments, *action.at_start.when, *action.when, *ending),
        throughout=TRUE,
        at_start=NO_MOMENT,
        at_end=NO_MOMENT,
        duration=action.duration.low if isinstance(action.duration, DurationRange) else action.duration,
    )


def with_timed_effects(problem: Problem) -> Problem:
    """Return `problem` with actions for the changes at known times, so that their facts can be reached."""
    if not problem.timed:
        return problem
    changes = {
        f"@{place}": Action(f"@{place}", provides=each.provides, numbers=each.numbers)
        for place, each in enumerate(problem.timed)
    }
    domain = replace(problem.domain, actions={**problem.domain.actions, **changes})
    return replace(problem, domain=domain, timed=())


def check_throughout(domain: DomainModel) -> Iterator[Finding]:
    """Yield what an action needs throughout and ends itself at its start."""
    for action in domain.actions.values():
        patterns = [*action.modifies, *action.at_start.modifies]
        early = tuple([each for each in action.provides if ends_early(each, action)])
        ended = [*[x for x in patterns if OPEN in x.args], *negated_atoms((*action.at_start.provides, *early))]
        given = positive_atoms(action.at_start.provides)
        for atom in conjuncts(action.throughout):
            if isinstance(atom, Atom) and atom not in given and any(_covers(each, atom) for each in ended):
                plain = unmarked(atom)
                message = f"it can never apply: it requires {plain} throughout, and ends that at its own start"
                place, hint = f"action {action.name}", "end it by `at_end`, or require it at the start only"
                yield Finding(Level.ERROR, "contradicting-requires", place, message, hint, "throughout", atom)


def _covers(pattern: Atom, fact: Atom) -> bool:
    return pattern.predicate == fact.predicate and pattern.matches(fact)


def check_time(problem: Problem) -> Iterator[Finding]:
    """Yield findings about capacities and windows of `problem`."""
    yield from _check_capacities(problem)
    yield from _check_windows(problem)
    yield from _check_idle_changes(problem)
    yield from check_units(problem.domain)
    for due in problem.due:
        if due.by < 0:
            yield Finding(Level.ERROR, "past-deadline", f"deadline of {due.condition}", "it is before the beginning")


def check_ended(problem: Problem) -> Iterator[Finding]:
    """Yield what an action ends at its start by `provides`, and a condition elsewhere reads."""
    if not is_temporal(problem):
        return
    actions = problem.domain.actions
    readers: dict[str, list[str]] = {}
    for name, action in actions.items():
        for condition in conditions_of(action):
            for atom in atoms_in(condition):
                readers.setdefault(atom.predicate, []).append(f"action {name}")
    for atom in atoms_in(problem.goal.hard):
        readers.setdefault(atom.predicate, []).append("the goal")
    for name, action in actions.items():
        if takes_no_time(action):
            continue
        for fact in negated_atoms(tuple([each for each in action.provides if ends_early(each, action)])):
            reader = next((each for each in readers.get(fact.predicate, ()) if each != f"action {name}"), None)
            if reader is not None:
                plain = unmarked(fact)
                message = f"it ends {plain} at its start, not when its work is done, and {reader} reads that"
                hint = f"if it is to hold until the end, write at_end: {{provides: ['not {plain}']}}"
                yield Finding(Level.HINT, "ended-at-start", f"action {name}", message, hint, "provides", fact)


def check_late_numbers(problem: Problem) -> Iterator[Finding]:
    """Yield the numbers that a declared action changes at its end, so that nobody reads them until then."""
    if not is_temporal(problem):
        return
    readers: dict[str, str] = {}
    for name, action in problem.domain.actions.items():
        read = [term for each in conditions_of(action) for part in comparisons_in(each) for term in part.functions]
        read += [term for _, amount in action.name_amounts() for term in functions_in(amount)]
        read += [term for when in action.effects for each in when.numbers for term in functions_in(each.value)]
        for term in read:
            readers.setdefault(term.predicate, name)
    for name, action in problem.domain.actions.items():
        for effect in () if takes_no_time(action) else action.numbers:
            reader = readers.get(effect.fluent.predicate)
            if reader is not None:
                fluent, moment = unmarked(effect.fluent), "start" if effect.operator in ("-=", "/=") else "end"
                message = f"it changes {fluent} at its end, and until then no other step reads that, as {reader} does"
                hint = f"if it is to change at its {moment}, for all to read, write at_{moment}: "
                hint += f"{{modifies: '{unmarked(effect)}'}}"
                yield Finding(Level.HINT, "changed-at-end", f"action {name}", message, hint, "modifies", effect.fluent)


def check_early_conditions(problem: Problem) -> Iterator[Finding]:
    """Yield the conditions of effects that are about the start of a declared step, and that others may change."""
    if not is_temporal(problem):
        return
    changing = find_changing(problem)
    for name, action in problem.domain.actions.items():
        for when in () if takes_no_time(action) else action.when:
            if depends_on(when.requires, changing):
                condition = unmarked(when.requires)
                message = f"its effect under the condition {condition} depends on the state in which the step begins"
                hint = "if it is to depend on the state at its end, write it into `when` of at_end"
                yield Finding(Level.HINT, "condition-at-start", f"action {name}", message, hint, "when", condition)


def check_moments(domain: DomainModel) -> Iterator[Finding]:
    """Yield what one action gives already at its start, or takes only at its end, unlike all others."""
    timed = [action for action in domain.actions.values() if action.duration is not None]
    moments = {action.name: split_moments(action) for action in timed}
    lasting = {name: _given_early(start, end) for name, (start, _, end) in moments.items()}
    late = [name for name, (_, _, end) in moments.items() if positive_atoms(end.provides)]
    early = [name for name, given in lasting.items() if given]
    if len(early) == 1 and len(set(late) - set(early)) >= _FEWEST_LIKES:
        name = early[0]
        fact = unmarked(lasting[name][0])
        message = f"it gives {fact} at its start, before its work is done; all other actions give at their ends"
        hint = f"provide {fact} at its end"
        yield Finding(Level.HINT, "unlike-moment", f"action {name}", message, hint, "provides", lasting[name][0])
    takers: dict[str, list[str]] = {}
    for name, (start, _, _) in moments.items():
        for each in (*negated_atoms(start.provides), *start.modifies):
            takers.setdefault(each.predicate, []).append(name)
    for name, (start, _, end) in moments.items():
        for taken in _taken_late(start, end):
            others = [other for other in takers.get(taken.predicate, ()) if other != name]
            if len(others) >= _FEWEST_LIKES and name not in takers[taken.predicate]:
                message = f"it requires {unmarked(taken)} and takes it only at its end; action {others[0]} takes it at"
                message += " its start, so that nobody else has it meanwhile"
                hint = f"end {unmarked(taken)} at its start"
                yield Finding(Level.HINT, "unlike-moment", f"action {name}", message, hint, "provides", taken)


_FEWEST_LIKES: Final = 2
"""Actions that give, or take, at one end, beside which an action that does so at the other is strange."""


def _given_early(start: Moment, end: Moment) -> list[Atom]:
    """Return what a start gives and the end leaves."""
    ended = [*negated_atoms(end.provides), *[x for x in end.modifies if OPEN in x.args]]
    return [fact for fact in positive_atoms(start.provides) if not any(_covers(each, fact) for each in ended)]


def _taken_late(start: Moment, end: Moment) -> list[Atom]:
    """Return what a step requires at its start and ends at its end."""
    needed = {part for part in conjuncts(start.requires) if isinstance(part, Atom)}
    return [fact for fact in negated_atoms(end.provides) if fact in needed]


UNITS: Final = frozenset({60, 3600, 1000, 24, 86400, 1440})
"""Factors between units of time."""


NAMED_UNITS: Final[dict[str, Exact]] = {
    "millisecond": Fraction(1, 1000), "ms": Fraction(1, 1000), "minute": 60, "min": 60, "hour": 3600, "hr": 3600,
    "day": 86400, "week": 604800,
}  # fmt: skip
"""Seconds of the units that descriptions name."""


def check_units(domain: DomainModel) -> Iterator[Finding]:
    """Yield durations in seconds that are given in another unit, as other actions or descriptions say."""
    bare: dict[str, str] = {}
    scaled: dict[str, tuple[str, Number]] = {}
    for action in domain.actions.values():
        match action.duration:
            case Atom(name):
                bare.setdefault(name, action.name)
            case Arithmetic("*", (int(factor), Atom(name)) | (Atom(name), int(factor))) if factor in UNITS:
                scaled.setdefault(name, (action.name, factor))
    for name in bare.keys() & scaled.keys():
        other, times = scaled[name]
        message = f"it lasts {name}(…) seconds, and action {other} lasts {times} times as much for the same"
        place, hint = f"action {bare[name]}", f"should it be {times} * {name}(…)?"
        yield Finding(Level.HINT, "unlike-units", place, message, hint, "duration", name)
    for action in domain.actions.values():
        yield from _check_described_units(action, domain)


def _check_described_units(action: Action, domain: DomainModel) -> Iterator[Finding]:
    """Yield that a description gives the number of a duration, or its function, in another unit than seconds."""
    place = f"action {action.name}"
    match action.duration:
        case Atom(name) if name in domain.functions:
            unit = _find_unit(r"\b", domain.functions[name].description)
            if unit is not None:
                message = f"it lasts {name}(…) seconds, and the description of {name} speaks of {unit}s"
                hint = f"should it be {show_number(NAMED_UNITS[unit])} * {name}(…)?"
                yield Finding(Level.WARNING, "unlike-units", place, message, hint, "duration", name)
        case int() | Decimal() as number if number:
            unit = _find_unit(rf"(?<![\w.]){number}[\s-]*", action.description)
            if unit is not None:
                message = f"it lasts {number} seconds, and its description says {number} {unit}s"
                hint = f"should it be {show_number(NAMED_UNITS[unit] * exact_value(number))}?"
                yield Finding(Level.WARNING, "unlike-units", place, message, hint, "duration", str(number))


def _find_unit(before: str, text: str) -> str | None:
    """Return the unit, other than the second, that stands in `text` after `before`; None where seconds do, too."""
    if re.search(r"\bsec(ond)?s?\b", text, re.IGNORECASE):
        return None
    found = re.search(rf"{before}({'|'.join(NAMED_UNITS)})s?\b", text, re.IGNORECASE)
    return found[1].lower() if found else None


def _check_capacities(problem: Problem) -> Iterator[Finding]:
    used = dict.fromkeys(name for action in problem.domain.actions.values() for name in action.holds)
    for name in problem.capacity:
        if name not in used:
            yield Finding(Level.WARNING, "unused-capacity", f"capacity {name}", "no action holds it")
    for action in problem.domain.actions.values():
        place = f"action {action.name}"
        for name, terms in action.holds.items():
            amount = sum_of(terms)
            if isinstance(amount, Number) and amount > problem.capacity.get(name, 0):
                message = f"it holds {amount} of {name}, and there is {problem.capacity.get(name, 0)}"
                yield Finding(Level.WARNING, "too-much-held", place, message, "it can never start")
            if isinstance(action.duration, DurationRange) and action.duration.high is None:
                message = f"it holds {name}, and its duration has no upper bound"
                yield Finding(Level.HINT, "held-for-ever", place, message, "bound it, so that others get their turn")
            if action.duration is None:
                message = f"it holds {name}, and has no duration: it gives it back at once"
                yield Finding(Level.WARNING, "held-for-no-time", place, message, "give it a duration")


@dataclass(frozen=True, slots=True)
class _Window:
    """A time during which a fact holds; without `end`, it holds for ever."""

    start: Number
    end: Number | None

    def fits(self, seconds: Number) -> bool:
        """Return whether a step that takes `seconds` fits."""
        return self.end is None or self.end - self.start >= seconds


def _check_windows(problem: Problem) -> Iterator[Finding]:
    """Yield the actions that last longer than any window of a fact that they need throughout."""
    windows = _find_windows(problem)
    values = Values.of(problem)
    for action in problem.domain.actions.values():
        shortest = _find_shortest(action, values)
        for atom in conjuncts(action.throughout):
            if not isinstance(atom, Atom) or shortest is None:
                continue
            pattern = Atom(atom.predicate, tuple([OPEN if is_variable(arg) else arg for arg in atom.args]))
            known = [each for fact, own in windows.items() if pattern.matches(fact) for each in own]
            if known and not any(each.fits(shortest) for each in known):
                longest = max(each.end - each.start for each in known if each.end is not None)
                message = f"it lasts {shortest} s or more, and needs {atom} throughout, which holds {longest} s at most"
                yield Finding(Level.WARNING, "window-too-short", f"action {action.name}", message, "it can never end")


def _check_idle_changes(problem: Problem) -> Iterator[Finding]:
    """Yield changes at known times that change nothing: nothing else writes the fact, and it is so already."""
    written = written_predicates(problem.domain)
    true = set(problem.initial)
    for effect in sorted(problem.timed, key=lambda each: each.time):
        for literal in effect.provides:
            fact = literal.part if isinstance(literal, Not) else literal
            if not isinstance(fact, Atom) or fact.predicate in written or fact.predicate in problem.domain.derived:
                continue
            if (fact in true) is not isinstance(literal, Not):
                message = f"at {effect.time} s, {literal} changes nothing: that is so already"
                hint = "are two times or a negation the wrong way round?"
                yield Finding(Level.HINT, "idle-change", f"window {fact}", message, hint, part=fact)
            (true.discard if isinstance(literal, Not) else true.add)(fact)


def _find_shortest(action: Action, values: Values) -> Number | None:
    """Return the least duration of steps of `action`; None where that depends on arguments or on the state."""
    duration = action.duration.low if isinstance(action.duration, DurationRange) else action.duration
    if duration is None:
        return None
    with contextlib.suppress(PlanError, KeyError):
        value = values.evaluate(duration)
        return None if value is None else as_seconds(value)
    return None


def _find_windows(problem: Problem) -> dict[Atom, list[_Window]]:
    """Return when facts hold that only changes at known times write; facts that actions write are left out."""
    written = written_predicates(problem.domain)
    found: dict[Atom, list[_Window]] = {}
    since: dict[Atom, Number] = {}
    for effect in sorted(problem.timed, key=lambda each: each.time):
        for literal in effect.provides:
            fact = literal.part if isinstance(literal, Not) else literal
            if not isinstance(fact, Atom) or fact.predicate in written:
                continue
            if fact in problem.initial and fact not in since and fact not in found:
                since[fact] = 0
            if not isinstance(literal, Not):
                since.setdefault(fact, effect.time)
            elif fact in since:
                found.setdefault(fact, []).append(_Window(since.pop(fact), effect.time))
    for fact, start in since.items():
        found.setdefault(fact, []).append(_Window(start, None))
    timed = {fact.predicate for fact in found}
    for fact in problem.initial:
        if fact.predicate in timed and fact not in found:
            found[fact] = [_Window(0, None)]
    return found
