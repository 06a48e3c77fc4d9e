"""Snap actions: the start and the end of each action as actions without a duration (Fox and Long, 2003).

A step that lasts is a start, an end, and a condition between them. Changes at known times become actions without
parameters, which happen when their time comes. Capacities become numeric fluents that steps draw on from start to end.
Facts say what steps use and bring from their starts to their ends, and all other steps need that these facts do not
hold.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from planner.errors import UnsupportedError
from planner.lightweight import dataclass, field, replace
from planner.limits import never
from planner.model.actions import (
    Action,
    CostFunction,
    CostTerm,
    DurationRange,
    Literal,
    Moment,
    NumericEffect,
    When,
)
from planner.model.domain import DomainModel, Function, Predicate, numeric_fluents
from planner.model.formulas import (
    OPEN,
    TRUE,
    Arithmetic,
    Atom,
    Comparison,
    Expression,
    Formula,
    Not,
    Or,
    Variable,
    conjunction,
    conjuncts,
    functions_in,
    with_conjuncts,
)
from planner.model.problem import Problem
from planner.model.timing import TOTAL_TIME
from planner.semantics.changes_to_come import depends_on, find_changes_to_come, find_changing, name_changes_to_come
from planner.semantics.interference import Interference, Moments, Part
from planner.semantics.items_in_use import BUSY, name_item
from planner.semantics.undefined_values import keep_needed


@dataclass(frozen=True, slots=True)
class SnapAction:
    """The moments of one action, as names of actions of the snap problem; `end` is "" without a duration.

    `lasting` requires what must hold between start and end, and changes nothing; "" where nothing must.
    """

    start: str
    end: str = ""
    lasting: str = ""


@dataclass(frozen=True, slots=True)
class SnapProblem:
    """A `problem` of snap actions.

    `actions` has the moments of each declared action, and `events` the names of the actions for the changes at known
    times, in their order.
    """

    problem: Problem
    actions: Mapping[str, SnapAction]
    events: tuple[str, ...]

    def name_last(self, step: Atom) -> Atom:
        """Return the last moment of `step`, when it has run; `step` itself if it is of no declared action."""
        return name_last(step, self.actions)


def make_snap_problem(problem: Problem, check: Callable[[], None] = never) -> SnapProblem:
    """Return the problem of snap actions for `problem`, whose plans are sequences of happenings.

    The metric, budgets, deadlines and constraints of `problem` are left out: they are not about single happenings.
    Of several outcomes, steps have the intended one. The domain keeps the snap problem that was asked for last. `check`
    is called regularly. Raises what it raises, and `UnsupportedError` for actions that create objects.
    """
    known: tuple[Problem, SnapProblem] | None = problem.domain.memo.get(make_snap_problem)
    if known is not None and known[0] is problem:
        return known[1]
    found = _make_snap_problem(problem, check)
    problem.domain.memo[make_snap_problem] = problem, found
    return found


def _make_snap_problem(problem: Problem, check: Callable[[], None]) -> SnapProblem:
    domain = problem.domain
    others = Interference.of(problem, _find_moments(domain), check)
    changing = find_changing(problem)
    memories: list[_Memory] = []
    taken = set(domain.actions)
    actions: dict[str, Action] = {}
    snaps: dict[str, SnapAction] = {}
    for name, action in domain.actions.items():
        _refuse(action)
        start, throughout, end = split_moments(action)
        throughout = require_throughout(action, problem)
        start, end = _hold_capacities(action, start, end)
        if takes_no_time(action):
            snaps[name] = SnapAction(name)
            whole = _snap(action, name, _join(start, throughout, end), measures=action.measures)
            whole = replace(whole, needs_values=keep_needed(action, problem))
            actions[name] = others.guard(whole, action, Part.WHOLE)
            continue
        memories.append(_Memory(action, changing))
        start, end = memories[-1].divide(start, end)
        start = _record_duration(action, start, numeric_fluents(domain))
        names = [_choose_name(f"{name} {word}", taken) for word in ("starts", "ends", "lasts")]
        first = replace(_snap(action, names[0], start), needs_values=keep_needed(action, problem))
        actions[names[0]] = others.guard(first, action, Part.START)
        last = _snap(action, names[1], end, measures=action.measures)
        actions[names[1]] = others.guard(last, action, Part.END)
        if throughout != TRUE:
            lasting = others.guard_formula(throughout, action)
            actions[names[2]] = Action(names[2], action.parameters, lasting, cost=())
        snaps[name] = SnapAction(*names) if throughout != TRUE else SnapAction(*names[:2])
    for name, action in domain.actions.items():
        if action.after:
            needed = tuple([name_last(pattern, snaps) for pattern in action.after])
            actions[snaps[name].start] = replace(actions[snaps[name].start], after=needed)
    events = []
    for number, effect in enumerate(problem.timed, start=1):
        events.append(_choose_name(f"event {number}", taken))
        change = Action(events[-1], provides=effect.provides, when=effect.when, numbers=effect.numbers, cost=())
        actions[events[-1]] = change
    values = {**problem.values, TOTAL_TIME: 0, **others.counters}
    functions = {**domain.functions, **others.functions}
    for resource, amount in problem.capacity.items():
        functions[free_name(resource)] = Function(free_name(resource), low=0)
        values[Atom(free_name(resource))] = amount
    predicates = {**domain.predicates, **others.predicates}
    for memory in memories:
        functions |= memory.functions
        predicates |= memory.predicates
    axioms = (*domain.axioms, *others.axioms)
    snapped = replace(domain, actions=actions, functions=functions, predicates=predicates, axioms=axioms)
    plain = Problem(
        problem.name, snapped, problem.objects, problem.initial, problem.goal, values, unknown=problem.unknown
    )
    ran = tuple([name_last(step, snaps) for step in problem.ran])
    return SnapProblem(replace(plain, ran=ran), snaps, tuple(events))


def name_last(step: Atom, snaps: Mapping[str, SnapAction]) -> Atom:
    """Return the last moment of `step`: a step has run when it has ended."""
    snap = snaps.get(step.predicate)
    return step if snap is None else Atom(snap.end or snap.start, step.args)


def _find_moments(domain: DomainModel) -> Mapping[str, Moments]:
    """Return the moments of the actions of `domain` whose steps last."""
    return {name: split_moments(each) for name, each in domain.actions.items() if not takes_no_time(each)}


def takes_no_time(action: Action) -> bool:
    """Return whether steps of `action` have one moment: they have no duration, or it is always 0."""
    duration = action.duration
    if isinstance(duration, DurationRange):
        return duration.low == duration.high == 0
    return duration is None or (not isinstance(duration, Atom | Arithmetic) and duration == 0)


def split_moments(action: Action) -> tuple[Moment, Formula, Moment]:
    """Return what `action` requires and changes at its start, its condition between, and the same for its end.

    What a step ends, it ends at its start: who takes a free bed takes it at once. Only a fact that the step itself
    brings at its start ends at its end. Conditions of declared effects are about the start: what comes under them
    comes at the end, by effects that say what must have `begun`.
    """
    ended = tuple([each for each in action.provides if ends_early(each, action)])
    retracting = tuple([item for item in action.modifies if OPEN in item.args])
    first, last = action.at_start, action.at_end
    start = Moment(
        with_conjuncts(action.requires, *conjuncts(first.requires)),
        (*first.provides, *ended),
        (*retracting, *first.modifies),
        (*_begin_effects(action), *first.when),
        first.numbers,
    )
    written = tuple([item for item in action.modifies if OPEN not in item.args])
    end = Moment(
        last.requires,
        (*[each for each in action.provides if each not in ended], *last.provides),
        (*written, *last.modifies),
        (*_end_effects(action), *last.when),
        (*action.numbers, *last.numbers),
    )
    return start, action.throughout, end


def _begin_effects(action: Action) -> Iterator[When]:
    """Yield what the declared conditional effects of `action` end at its start."""
    for when in action.when:
        ended = tuple([each for each in when.provides if ends_early(each, action)])
        items = tuple([item for item in when.modifies if OPEN in item.args])
        if ended or items:
            yield When(when.requires, ended, items, when.variables)


def _end_effects(action: Action) -> Iterator[When]:
    """Yield what the declared conditional effects of `action` bring at its end."""
    for when in action.when:
        late = tuple([each for each in when.provides if not ends_early(each, action)])
        items = tuple([item for item in when.modifies if OPEN not in item.args])
        if late or items or when.numbers:
            yield When(TRUE, late, items, when.variables, when.numbers, begun=when.requires)


def at_once(when: When) -> When:
    """Return the effect of a step that takes no time: all conditions are about the state before it."""
    if when.begun == TRUE:
        return when
    condition = with_conjuncts(when.begun, *conjuncts(when.requires))
    return When(condition, when.provides, when.modifies, when.variables, when.numbers)


def ends_early(literal: Literal, action: Action) -> bool:
    """Return whether `literal`, which `action` provides, ends a fact that its own start does not bring."""
    return isinstance(literal, Not) and literal.part not in action.at_start.provides


def _refuse(action: Action) -> None:
    if action.creates:
        raise UnsupportedError(f"objects that '{action.name}' creates, in time", "declare them in the problem")


def _snap(action: Action, name: str, moment: Moment, measures: tuple[Atom, ...] = ()) -> Action:
    """Return the action `name` for one `moment` of `action`; the cost is that of the whole step, and left out."""
    return Action(
        name,
        action.parameters,
        moment.requires,
        moment.provides,
        moment.modifies,
        moment.when,
        cost=(),
        measures=measures,
        numbers=moment.numbers,
        tags=action.tags,
    )


def require_throughout(action: Action, problem: Problem) -> Formula:
    """Return what must hold between the start and the end of steps of `action`: nothing where they take no time.

    An empty interval holds no moment, so that nothing must hold in it (Fox and Long, 2003). Where the duration depends
    on what never changes, and may come to 0, the condition says so. Of ranges, only 0..0 is empty.
    """
    duration = action.duration
    if isinstance(duration, DurationRange):
        return TRUE if duration.low == duration.high == 0 else action.throughout
    if not isinstance(duration, Atom | Arithmetic):
        return TRUE if duration == 0 else action.throughout
    read = {each.predicate for each in functions_in(duration)}
    may_be_empty = any(not value and term.predicate in read for term, value in problem.values.items())
    if action.throughout == TRUE or not may_be_empty or read & numeric_fluents(problem.domain):
        return action.throughout
    return Or((Comparison(duration, "=", 0), action.throughout))


def _join(start: Moment, throughout: Formula, end: Moment) -> Moment:
    """Return all that happens in a step without a duration."""
    requires = [*conjuncts(start.requires), *conjuncts(throughout), *conjuncts(end.requires)]
    return Moment(
        conjunction(requires),
        (*start.provides, *end.provides),
        (*start.modifies, *end.modifies),
        (*start.when, *map(at_once, end.when)),
        (*start.numbers, *end.numbers),
    )


def _record_duration(action: Action, start: Moment, fluents: frozenset[str]) -> Moment:
    """Let the start of a step read the fluents that its duration depends on: it writes the duration to a fluent."""
    arguments = tuple([parameter.name for parameter in action.parameters])
    target = duration_fluent(action, arguments, fluents)
    if target is None:
        return start
    bounds = (
        (action.duration.low, action.duration.high)
        if isinstance(action.duration, DurationRange)
        else (action.duration,)
    )
    numbers = [NumericEffect(target, ":=", bounds[0] or 0)]
    if len(bounds) > 1 and bounds[1] is not None:
        numbers.append(NumericEffect(greatest_fluent(target), ":=", bounds[1]))
    return replace(start, numbers=(*start.numbers, *numbers))


@dataclass(slots=True)
class _Memory:
    """What steps of one action remember from their starts, as facts and fluents of the snap problem."""

    action: Action
    changing: frozenset[str]
    predicates: dict[str, Predicate] = field(default_factory=dict)
    functions: dict[str, Function] = field(default_factory=dict)

    def divide(self, start: Moment, end: Moment) -> tuple[Moment, Moment]:
        """Let the `start` note what declared changes at the `end` depend on: conditions, and values of numbers."""
        size = len(self.action.numbers)
        noted, late = self._note_values(end.numbers[:size], ())
        when: list[When] = []
        begun = list(start.when)
        declared = sum(1 for _ in _end_effects(self.action))
        for place, effect in enumerate(end.when):
            if place >= declared:
                when.append(effect)
            elif depends_on(effect.begun, self.changing):
                known, numbers = self._note_values(effect.numbers, effect.variables)
                memory = self._remember(effect)
                begun.append(When(effect.begun, (memory,), variables=effect.variables, numbers=tuple(known)))
                changes = (*effect.provides, Not(memory))
                when.append(When(memory, changes, effect.modifies, effect.variables, tuple(numbers)))
            else:
                known, numbers = self._note_values(effect.numbers, effect.variables)
                if known:
                    begun.append(When(effect.begun, variables=effect.variables, numbers=tuple(known)))
                when.append(replace(at_once(effect), numbers=tuple(numbers)))
        first = replace(start, when=tuple(begun), numbers=(*start.numbers, *noted))
        return first, replace(end, when=tuple(when), numbers=(*late, *end.numbers[size:]))

    def _remember(self, effect: When) -> Atom:
        """Return the fact that the condition of `effect` held when the step began."""
        variables = (*self.action.parameters, *effect.variables)
        name = f"effect {len(self.predicates) + 1} of {self.action.name} is due"
        self.predicates[name] = Predicate(name, variables)
        return Atom(name, tuple([each.name for each in variables]))

    def _note_values(
        self, effects: Sequence[NumericEffect], more: tuple[Variable, ...]
    ) -> tuple[list[NumericEffect], list[NumericEffect]]:
        """Return effects by which a start notes the values that `effects` read, and the effects that read the notes."""
        variables = (*self.action.parameters, *more)
        known: dict[Atom, Atom] = {}
        for effect in effects:
            for term in functions_in(effect.value):
                if term.predicate in self.changing and term not in known:
                    name = f"{term.predicate} {len(self.functions) + 1} as {self.action.name} starts"
                    self.functions[name] = Function(name, variables)
                    known[term] = Atom(name, tuple([each.name for each in variables]))
        late = [replace(each, value=_replace_terms(each.value, known)) for each in effects]
        return [NumericEffect(memory, ":=", term) for term, memory in known.items()], late


def _replace_terms(expression: Expression, known: Mapping[Atom, Atom]) -> Expression:
    match expression:
        case Atom():
            return known.get(expression, expression)
        case Arithmetic(operator, operands):
            return Arithmetic(operator, tuple([_replace_terms(each, known) for each in operands]))
        case _:
            return expression


def duration_fluent(action: Action, arguments: tuple[str, ...], fluents: frozenset[str]) -> Atom | None:
    """Return the numeric fluent that has the least duration of a step of `action` from its start on.

    Return None where the duration depends on none of the `fluents`.
    """
    duration = action.duration
    bounds = (duration.low, duration.high or 0) if isinstance(duration, DurationRange) else (duration or 0,)
    depends = any(term.predicate in fluents for each in bounds for term in functions_in(each))
    return Atom(f"duration of {action.name}", arguments) if depends else None


def greatest_fluent(duration: Atom) -> Atom:
    """Return the numeric fluent that has the greatest duration of a step whose least one `duration` has."""
    return Atom(f"greatest {duration.predicate}", duration.args)


def _choose_name(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "'"
    taken.add(name)
    return name


def free_name(resource: str) -> str:
    """Return the name of the fluent that says how much of a capacity no step holds."""
    return f"{resource} left"


def name_as_declared(text: str, problem: Problem) -> str:
    """Return a message about the snap problem of `problem`, in words of what `problem` declares."""
    for resource in problem.capacity:
        free = re.escape(free_name(resource))
        text = re.sub(rf"{free} >= (\d[\d.]*)", rf"\1 of {resource}", text)
        text = re.sub(rf"{free} - (\S+) >= 0", rf"\1 of {resource}", text)
        text = re.sub(rf"{free} is (\S+)", rf"\1 of {resource} is free", text)
        text = re.sub(free, resource, text)
    if " busy " in f" {text}":
        for said, meant in (
            ("not ", "that no other step modifies"),
            ("provided ", "began to modify"),
            ("", "the use of"),
        ):
            for found in [*re.finditer(rf"\b{said}{BUSY}", text)]:
                text = text.replace(found[0], f"{meant} {name_item(found, problem)}")
    if any(words in text for words in (" to come by ", " to end by ", " to change by ")):
        text = name_changes_to_come(text, find_changes_to_come(problem, _find_moments(problem.domain)))
    for name in problem.domain.actions:
        if f"{name} " in text:
            text = re.sub(rf"(?<![\w-]){re.escape(name)} (?:starts|ends|lasts)(?=[('])", name, text)
    return text


def _hold_capacities(action: Action, start: Moment, end: Moment) -> tuple[Moment, Moment]:
    """Let a step take what it holds at its start, and give it back at its end."""
    if not action.holds:
        return start, end
    amounts = {name: sum_of(terms) for name, terms in action.holds.items()}
    taken = [NumericEffect(Atom(free_name(name)), "-=", amount) for name, amount in amounts.items()]
    given = [NumericEffect(Atom(free_name(name)), "+=", amount) for name, amount in amounts.items()]
    return replace(start, numbers=(*start.numbers, *taken)), replace(end, numbers=(*end.numbers, *given))


def sum_of(terms: Iterable[CostTerm]) -> Expression:
    """Return the sum of `terms`, none of which is a Python function."""
    parts = [term for term in terms if not isinstance(term, CostFunction)]
    return parts[0] if len(parts) == 1 else Arithmetic("+", tuple(parts))
