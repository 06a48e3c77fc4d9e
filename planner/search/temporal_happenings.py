"""Which ground happenings of a task in time wait for which others: stamps, which happenings set and wait for.

A stamp is the last time at which somebody read, made true or made false a fact, read, changed or set a number, or ended
or began to need one of them throughout. A happening waits for stamps: `SEPARATION` for what it must not come at once
with (Fox and Long, 2003: no moving targets), and not at all for what only comes before it. So the least times of a
sequence of happenings follow from its stamps.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import product
from math import lcm

from planner.compilations.lifted_regression import conjoin, disjoin
from planner.errors import PlanError
from planner.grounding.action_tables import make_price
from planner.grounding.ground_temporal import hard_deadlines, meeting, meeting_fact, opening, running
from planner.lightweight import Final, dataclass, field, replace
from planner.model.actions import Action, DurationRange, When
from planner.model.arithmetic import Exact, Key
from planner.model.formulas import (
    FALSE,
    OPEN,
    TRUE,
    And,
    Atom,
    Comparison,
    Equals,
    Expression,
    Forall,
    Formula,
    Not,
    Number,
    Or,
    conjunction,
    conjuncts,
    functions_in,
    negate,
    substitute,
)
from planner.model.problem import Problem
from planner.plan import Step
from planner.search.temporal_prices import Tariff, make_values, may_gain, price_effects
from planner.semantics.condition_solver import Universe
from planner.semantics.durations import SEPARATION, duration_of, has_chosen_durations
from planner.semantics.numeric_state import Values
from planner.semantics.simulation import bind_parameters
from planner.semantics.snap_actions import SnapProblem
from planner.task.numeric_task import LinearEffect
from planner.task.temporal_task import ENDING, INSTANT, TemporalTask

Literal = tuple[Atom, bool]
"""A ground atom, and whether it holds."""
Kind = tuple[str, object]
"""What a stamp is about: one of the words below, and an atom."""

ADDED: Final = "made true"
DELETED: Final = "made false"
BEGUN: Final = "begun"
READ: Final = "read"
KEPT_TRUE: Final = "needed true until"
KEPT_FALSE: Final = "needed false until"
COMPARED: Final = "compared"
INCREASED: Final = "increased"
DECREASED: Final = "decreased"
ASSIGNED: Final = "assigned"
WATCHED: Final = "watched until"
WATCHING: Final = "watched from"


@dataclass(slots=True)
class Happening:
    """A ground happening: action `action` of the task, which begins or ends `lapse`, -1 for neither.

    `waits` has stamps and the least time after each, in ticks; it sets the stamps in `sets`, those in `firsts` where
    the fact beside them, as a bit, does not hold yet. `needs`, `adds` and `deletes` are facts as bits. Its `price` is
    in the units of the rules.
    """

    action: int
    lapse: int = -1
    needs: int = 0
    adds: int = 0
    deletes: int = 0
    effects: tuple[LinearEffect, ...] = ()
    waits: list[tuple[int, int]] = field(default_factory=list)
    sets: list[int] = field(default_factory=list)
    firsts: list[tuple[int, int]] = field(default_factory=list)
    is_end: bool = False
    literals: frozenset[Literal] = frozenset()
    makes: frozenset[Literal] = frozenset()
    price: int = 0


@dataclass(frozen=True, slots=True)
class Meeting:
    """A deadline of a goal: one of the conjunctions `needs` must hold by the tick `by`; all are facts as bits.

    `met` is the fact that says so.
    """

    met: int
    needs: tuple[int, ...]
    by: int


@dataclass(frozen=True, slots=True)
class Span:
    """A step that lasts from `low` to `high` ticks, without `high` for ever.

    `kept` are conjunctions of facts, one of which must hold throughout, as bits. An end that `may_wait` may have to
    come later than its step first allows.
    """

    ends: tuple[Happening, ...]
    kept: tuple[int, ...]
    low: int
    high: int | None
    may_wait: bool = False
    may_overlap: bool = False
    """Whether another step of the same action may start meanwhile."""
    most: int | None = None
    """How many steps of the action may run at once; None where nothing limits them."""


@dataclass(frozen=True, slots=True)
class HappeningRules:
    """The happenings of `task` and what they wait for; `events` are at known ticks, in their order.

    A plan pays `per_tick` for each tick of its makespan, the prices of its happenings, and `fixed` in any case:
    `scale` of these units are one of the metric.
    """

    task: TemporalTask
    starts: tuple[Happening, ...]
    spans: Mapping[int, Span]
    events: tuple[tuple[int, Happening], ...]
    stamps: int
    stamp_of: Mapping[int, int]
    """For facts, the stamp of what last made them true."""
    meetings: tuple[Meeting, ...] = ()
    per_tick: int = 1
    fixed: int = 0
    scale: int = 1

    @property
    def may_wait(self) -> bool:
        """Whether some end may have to wait."""
        return any(span.may_wait for span in self.spans.values())

    @property
    def may_overlap_itself(self) -> bool:
        """Whether two steps of one action may run at once."""
        return any(span.may_overlap for span in self.spans.values())


class _Untold(Exception):
    """Something whose reads and writes are not told exactly."""


def work_out_rules(
    problem: Problem, snap: SnapProblem, task: TemporalTask, tariff: Tariff | None = None
) -> Generator[None, None, HappeningRules | None]:
    """Return the rules of `task`, the grounding of `problem`; None where they are not told exactly.

    They are for conjunctions of literals and comparisons, unconditional effects that depend on no duration of a range,
    and durations that do not depend on numbers that change. A fact of a monitor that nothing ends, and that is only
    read where it holds, has no targets that move: who reads it comes after the first one that makes it true, and at
    once with others. Deadlines of goals may be met too easily where ends wait.

    Plans pay by `tariff`, without one for their makespan. There are no rules where what a step pays by it depends on
    the state, or is a gain. The work yields after each ground action, so that others get their turns.
    """
    if problem.domain.axioms:
        return None
    if has_chosen_durations(problem.domain):
        return None
    if tariff is not None and may_gain(tariff, snap):
        return None
    try:
        return (yield from _Rules(problem, snap, task, tariff or Tariff(Fraction(1), Fraction(0))).find())
    except _Untold:
        return None


@dataclass(frozen=True, slots=True)
class _Touched:
    """The literals and numbers that a snap action reads and writes; `items` are those of `modifies`."""

    reads: frozenset[Literal]
    adds: frozenset[Atom]
    deletes: frozenset[Atom]
    patterns: tuple[Atom, ...]
    items: tuple[Atom, ...]
    compared: frozenset[Atom]
    added: Mapping[Atom, bool | None]
    """Whether a fluent grows; None where this is not known."""
    assigned: frozenset[Atom]


@dataclass(slots=True)
class _Rules:
    problem: Problem
    snap: SnapProblem
    task: TemporalTask
    tariff: Tariff
    facts: dict[Atom | Not, int] = field(init=False)
    stamps: dict[Kind, int] = field(default_factory=dict)
    separation: int = field(init=False)
    bounded: dict[Atom, tuple[bool, bool]] = field(init=False)
    fluents: frozenset[Atom] = field(init=False)
    objects: Universe = field(init=False)
    watched: frozenset[Atom] = frozenset()
    hidden: int = 0
    lasting: frozenset[Atom] = frozenset()
    """The facts of monitors that hold for good once they are true, and that are read only where they hold."""
    universe: dict[Atom, None] = field(default_factory=dict)
    started: dict[str, str] = field(init=False)
    """The actions that each start of the snap problem belongs to."""
    value_of: Callable[[Key], Exact | bool | None] = field(init=False)
    prices: dict[int, Fraction] = field(default_factory=dict)
    """What each ground happening adds to the metric."""

    def __post_init__(self) -> None:
        self.facts = {fact: number for number, fact in enumerate(self.task.source.task.facts)}
        self.separation = int(SEPARATION * self.task.resolution)
        variables = self.task.source.variables
        self.objects = Universe(self.problem)
        self.fluents = frozenset(each.fluent for each in variables)
        self.bounded = {each.fluent: (each.low is not None, each.high is not None) for each in variables}
        self.started = {moments.start: name for name, moments in self.snap.actions.items()}
        self.value_of = make_values(self.snap.problem)

    def find(self) -> Generator[None, None, HappeningRules]:
        plain = self.task.source.task
        names = {moments.start for moments in self.snap.actions.values()}
        ending = {moments.end for moments in self.snap.actions.values() if moments.end}
        own = {running(name) for name in self.snap.actions}
        touched: dict[int, _Touched] = {}
        for number, action in enumerate(plain.actions):
            name = action.step.action
            if name in names or name in ending or name in self.snap.events:
                if action.conditional:
                    raise _Untold
                touched[number] = self._touch(action.step)
                self.prices[number] = self._price(action.step)
                yield
        if plain.axioms:
            raise _Untold
        for each in touched.values():
            self.universe.update(dict.fromkeys([*[atom for atom, _ in each.reads], *each.adds, *each.deletes]))
        self.lasting = self._find_lasting(touched.values())
        through = {place: self._touch_through(place) for place in range(self.task.events)}
        self.watched = frozenset(fluent for each in through.values() for fluent in each[1])
        self.hidden = sum(
            1 << number for fact, number in self.facts.items() if isinstance(fact, Atom) and fact.predicate in own
        )
        starts: list[Happening] = []
        spans: dict[int, Span] = {}
        for number, begun in enumerate(self.task.begins):
            if number not in touched or begun == ENDING:
                continue
            lapse = -1 if begun == INSTANT else begun
            yield
            starts.append(self._make(number, touched[number], lapse))
            if lapse < 0:
                continue
            self._begin(starts[-1], through[lapse])
            if lapse not in spans:
                ends = [self._make(each, touched[each], lapse) for each in self.task.lapses[lapse].ends]
                for end in ends:
                    self._end(end, through[lapse])
                kept = tuple([sum(1 << fact for fact in facts) for facts in self.task.lapses[lapse].invariants])
                low, high = self._find_duration(plain.actions[number].step)
                spans[lapse] = Span(tuple(ends), kept, low, high)
        events = [
            (lapse.ticks, self._make(end, touched[end], -1))
            for lapse in self.task.lapses[self.task.events :]
            for end in lapse.ends
            if end in touched
        ]
        events.sort(key=lambda each: each[0])
        everything = [*starts, *[end for span in spans.values() for end in span.ends], *[each for _, each in events]]
        self._mark_running(starts, spans)
        yield from self._free(spans, through, starts, everything)
        self._refuse_circles(starts, spans, through)
        stamp_of = {
            number: self.stamps[kind]
            for fact, number in self.facts.items()
            if (kind := (DELETED, fact.part) if isinstance(fact, Not) else (ADDED, fact)) in self.stamps
        }
        rules = HappeningRules(
            self.task, tuple(starts), spans, tuple(events), len(self.stamps), stamp_of, self._find_meetings()
        )
        return self._charge(rules, everything)

    def _free(
        self,
        spans: dict[int, Span],
        through: Mapping[int, tuple[frozenset[Literal], frozenset[Atom]]],
        starts: Sequence[Happening],
        everything: Sequence[Happening],
    ) -> Generator[None, None, None]:
        """Let `spans` say which ends may wait, and which steps may overlap themselves, how often."""
        freedom = yield from self._find_freedom(spans, through, starts, everything, with_groups=True)
        if any(overlaps for _, overlaps in freedom.values()):  # groups are known for steps that do not
            freedom = yield from self._find_freedom(spans, through, starts, everything, with_groups=False)
        for place, span in spans.items():
            may_wait, may_overlap = freedom[place]
            if may_overlap:
                self._keep_copies_apart(place, span, starts)
            may_wait = may_wait or span.low < self.separation
            most = self._count_copies(place, span, starts)
            spans[place] = replace(span, may_wait=may_wait, may_overlap=may_overlap, most=most)

    def _find_meetings(self) -> tuple[Meeting, ...]:
        """Return the deadlines of goals."""
        plain, found = self.task.source.task, list[Meeting]()
        for place, due in enumerate(hard_deadlines(self.problem)):
            met = self.facts[Atom(meeting_fact(place))]
            own = {met, *[self.facts.get(Not(Atom(meeting_fact(place))), -1), self.facts.get(opening(place), -1)]}
            ways = [each for each in plain.actions if each.step.action == meeting(place)]
            if any(each.conditional for each in ways):
                raise _Untold
            needs = [sum(1 << fact for fact in each.precondition if fact not in own) for each in ways]
            found.append(Meeting(1 << met, tuple(needs), self._ticks(due.by)))
        return tuple(found)

    def _price(self, step: Step) -> Fraction:
        """Return what a step of the snap problem adds to the metric; what a whole step costs is paid at its start."""
        action = self.snap.problem.domain.actions[step.action]
        binding = bind_parameters(action, step)
        effects = [each.substitute(dict(binding)) for each in _settle_effects(action, binding).numbers]
        found = price_effects(effects, self.tariff, self.value_of) if self.tariff.weights else 0
        if found is None:
            raise _Untold
        name = self.started.get(step.action)
        if name is None or not self.tariff.cost:
            return Fraction(found)
        cost = make_price(self.problem.domain.actions[name], self.problem)(step.arguments)
        return found + self.tariff.cost * Fraction(cost)

    def _charge(self, rules: HappeningRules, happenings: Iterable[Happening]) -> HappeningRules:
        """Set the prices of the `happenings`, and return the `rules` with what else plans pay.

        All changes at known times happen in any plan.
        """
        per_tick = self.tariff.time / self.task.resolution
        fixed = sum([self._price(Step(event)) for event in self.snap.events], Fraction(0))
        prices = [per_tick, fixed, *self.prices.values()]
        scale = lcm(*[price.denominator for price in prices])
        known = {event.action for _, event in rules.events}
        for each in happenings:
            each.price = 0 if each.action in known else int(self.prices[each.action] * scale)
        return replace(rules, per_tick=int(per_tick * scale), fixed=int(fixed * scale), scale=scale)

    def _find_lasting(self, touched: Iterable[_Touched]) -> frozenset[Atom]:
        ended: set[Atom] = set()
        for each in touched:
            ended |= each.deletes
            ended.update([atom for atom, holds in each.reads if not holds])
        return frozenset(atom for atom in self.universe if atom.predicate.startswith("@") and atom not in ended)

    def _touch(self, step: Step) -> _Touched:
        """Return what a step of the snap problem reads and writes."""
        action = self.snap.problem.domain.actions[step.action]
        if action.after:
            raise _Untold
        binding = bind_parameters(action, step)
        action = _settle_effects(action, binding)
        reads, compared = self._read(conjuncts(action.requires), binding)
        added: dict[Atom, bool | None] = {}
        assigned: set[Atom] = set()
        for effect in action.numbers:
            ground = effect.substitute(dict(binding))
            compared |= self._fluents_in(ground.value)
            if ground.fluent not in self.fluents:
                continue
            if not ground.is_additive:
                assigned.add(ground.fluent)
                continue
            grows = (ground.value > 0) is (ground.operator == "+=") if isinstance(ground.value, Number) else None
            added[ground.fluent] = grows if ground.fluent not in added or added[ground.fluent] is grows else None
        literals = [(each.part, False) if isinstance(each, Not) else (each, True) for each in action.provides]
        facts = [(part.substitute(dict(binding)), holds) for part, holds in literals if isinstance(part, Atom)]
        adds = frozenset(atom for atom, holds in facts if holds)
        deletes = frozenset(atom for atom, holds in facts if not holds) - adds
        items = [item.substitute(dict(binding)) for item in action.modifies]
        return _Touched(
            frozenset(reads),
            adds,
            deletes,
            tuple([item for item in items if OPEN in item.args]),
            tuple(items),
            frozenset(compared),
            added,
            frozenset(assigned),
        )

    def _read(self, conditions: Iterable[Formula], binding: Mapping[str, str]) -> tuple[set[Literal], set[Atom]]:
        reads: set[Literal] = set()
        compared: set[Atom] = set()
        whole = settle(conjunction([substitute(part, dict(binding)) for part in conditions]))
        for condition in self._split(whole):
            inner = condition.part if isinstance(condition, Not) else condition
            if isinstance(inner, Atom):
                reads.add((inner, inner is condition))
            else:
                assert isinstance(inner, Comparison)
                compared |= self._fluents_in(inner.left) | self._fluents_in(inner.right)
        return reads, compared

    def _split(self, condition: Formula) -> Iterator[Formula]:
        """Yield the literals and comparisons whose conjunction is the ground `condition`."""
        match condition:
            case Atom() | Comparison() | Not(Atom()) | Not(Comparison()):
                yield condition
            case And(parts):
                for part in parts:
                    yield from self._split(part)
            case Forall(variables, part):
                domains = self.objects.domains(variables)
                for objects in product(*domains.values()):
                    yield from self._split(substitute(part, dict(zip(domains, objects, strict=True))))
            case Or(parts):
                rest = [part for part in parts if self._decide(part) is not False]
                if not any(self._decide(part) for part in rest):
                    if len(rest) != 1:
                        raise _Untold
                    yield from self._split(rest[0])
            case _:
                if self._decide(condition) is None:
                    raise _Untold

    def _decide(self, condition: Formula) -> bool | None:
        """Return whether a ground `condition` about the equality of objects holds; None for others."""
        match condition:
            case Equals(left, right):
                return left == right
            case Not(part):
                found = self._decide(part)
                return None if found is None else not found
            case And(parts):
                decided = [self._decide(part) for part in parts]
                return False if False in decided else None if None in decided else True
        return None

    def _fluents_in(self, expression: Expression) -> set[Atom]:
        return {term for term in functions_in(expression) if term in self.fluents}

    def _touch_through(self, place: int) -> tuple[frozenset[Literal], frozenset[Atom]]:
        """Return the literals and the fluents that the step of lapse `place` needs throughout."""
        for number, begun in enumerate(self.task.begins):
            if begun == place:
                step = self.task.source.task.actions[number].step
                name = next(each for each in self.snap.actions.values() if each.start == step.action).lasting
                if not name:
                    break
                action = self.snap.problem.domain.actions[name]
                reads, compared = self._read(conjuncts(action.requires), bind_parameters(action, step))
                return frozenset(reads), frozenset(compared)
        return frozenset(), frozenset()

    def _stamp(self, kind: str, about: Atom) -> int:
        return self.stamps.setdefault((kind, about), len(self.stamps))

    def _make(self, number: int, touched: _Touched, lapse: int) -> Happening:
        """Return happening `number` with what it waits for, but for what it needs throughout."""
        source = self.task.source
        action = source.task.actions[number]
        effects: list[LinearEffect] = []
        for each in source.changes[number] if source.changes else ():
            if each.conditions and () not in each.conditions:
                raise _Untold
            effects += each.effects
        numeric = {each.fact for each in source.conditions}
        wanted = {self.facts.get(atom if holds else Not(atom), -1) for atom, holds in touched.reads}
        needs = sum(1 << fact for fact in action.precondition if fact in numeric or fact in wanted)
        happening = Happening(number, lapse, needs & ~self.hidden, effects=tuple(effects), literals=touched.reads)
        happening.adds = sum(1 << fact for fact in action.adds) & ~self.hidden
        happening.deletes = sum(1 << fact for fact in action.deletes) & ~self.hidden
        made = {(atom, True) for atom in touched.adds} | {(atom, False) for atom in touched.deletes}
        matched = [atom for atom in self.universe for item in touched.patterns if item.matches(atom)]
        made |= {(atom, False) for atom in matched if atom not in touched.adds}
        happening.makes = frozenset(made)
        waits: dict[int, int] = {}
        sets: dict[int, None] = {}

        def wait(kind: str, about: Atom, gap: int = self.separation) -> None:
            stamp = self._stamp(kind, about)
            waits[stamp] = max(waits.get(stamp, 0), gap)

        for atom, _ in touched.reads:
            wait(ADDED, atom)
            if atom in self.lasting:
                continue
            wait(DELETED, atom)
            sets[self._stamp(READ, atom)] = None
        items = [atom for atom in self.universe for item in touched.items if item.matches(atom)]
        for atom, holds in [*made, *[(atom, holds) for atom in items for holds in (True, False)]]:
            if atom in self.lasting:
                fact = self.facts.get(atom, -1)
                happening.firsts += [(1 << fact, self._stamp(ADDED, atom))] if fact >= 0 else []
                continue
            wait(READ, atom)
            wait(DELETED if holds else ADDED, atom)
            wait(KEPT_FALSE if holds else KEPT_TRUE, atom, 0)
            sets[self._stamp(ADDED if holds else DELETED, atom)] = None
        self._wait_for_numbers(touched, wait, sets)
        happening.waits, happening.sets = list(waits.items()), list(sets)
        return happening

    def _wait_for_numbers(self, touched: _Touched, wait: Callable[..., None], sets: dict[int, None]) -> None:
        """Let a happening `wait` for those that touch its numbers. What uses a bounded number up waits for gains."""
        for fluent in touched.compared:
            for kind in (INCREASED, DECREASED, ASSIGNED):
                wait(kind, fluent)
            sets[self._stamp(COMPARED, fluent)] = None
        for fluent in [*touched.added, *touched.assigned]:
            wait(COMPARED, fluent)
            wait(ASSIGNED, fluent)
            wait(WATCHED, fluent, 0)
            wait(WATCHING, fluent, 0)
            grows = touched.added.get(fluent)
            is_set = fluent in touched.assigned
            low, high = self.bounded[fluent]
            gap = self.separation if is_set else 0
            if is_set or fluent in self.watched or (low and grows is not True):
                wait(INCREASED, fluent, self.separation if low and grows is not True else gap)
            if is_set or fluent in self.watched or (high and grows is not False):
                wait(DECREASED, fluent, self.separation if high and grows is not False else gap)
            if is_set:
                sets[self._stamp(ASSIGNED, fluent)] = None
            else:
                if grows is not False:
                    sets[self._stamp(INCREASED, fluent)] = None
                if grows is not True:
                    sets[self._stamp(DECREASED, fluent)] = None

    def _begin(self, start: Happening, through: tuple[frozenset[Literal], frozenset[Atom]]) -> None:
        """Let a start come no sooner than what its step needs throughout."""
        known = dict(start.waits)
        for atom, holds in through[0]:
            known.setdefault(self._stamp(ADDED if holds else DELETED, atom), 0)
        for fluent in through[1]:
            for kind in (INCREASED, DECREASED, ASSIGNED):
                known.setdefault(self._stamp(kind, fluent), 0)
            start.sets.append(self._stamp(WATCHING, fluent))
        start.waits = list(known.items())

    def _end(self, end: Happening, through: tuple[frozenset[Literal], frozenset[Atom]]) -> None:
        """Let what ends a need of its step come no sooner than its end."""
        end.is_end = True
        end.sets += [self._stamp(KEPT_TRUE if holds else KEPT_FALSE, atom) for atom, holds in through[0]]
        end.sets += [self._stamp(WATCHED, fluent) for fluent in through[1]]

    def _find_duration(self, step: Step) -> tuple[int, int | None]:
        name = next(name for name, moments in self.snap.actions.items() if moments.start == step.action)
        action = self.problem.domain.actions[name]
        bounds = action.duration
        terms: list[Expression] = []
        if isinstance(bounds, DurationRange):
            terms = [each for each in (bounds.low, bounds.high) if each is not None]
        elif bounds is not None:
            terms = [bounds]
        binding = bind_parameters(action, Step(name, step.arguments))
        if any(term.substitute(dict(binding)) in self.fluents for each in terms for term in functions_in(each)):
            raise _Untold
        try:
            lasting = duration_of(action, Values.of(self.problem), binding)
        except PlanError:
            raise _Untold from None
        low = self._ticks(lasting.low)
        return low, None if lasting.high is None else self._ticks(lasting.high)

    def _ticks(self, seconds: Number) -> int:
        ticks = Fraction(seconds) * self.task.resolution
        if ticks.denominator != 1:
            raise _Untold
        return int(ticks)

    def _mark_running(self, starts: Sequence[Happening], spans: Mapping[int, Span]) -> None:
        """Let starts make true that their step runs, and ends need it and make it false."""
        for start in starts:
            if start.lapse < 0:
                continue
            step = self.task.source.task.actions[start.action].step
            fact = Atom(running(self.started[step.action]), step.arguments)
            start.makes |= {(fact, True)}
            for end in spans[start.lapse].ends:
                end.literals |= {(fact, True)}
                end.makes |= {(fact, False)}

    def _find_freedom(
        self,
        spans: Mapping[int, Span],
        through: Mapping[int, tuple[frozenset[Literal], frozenset[Atom]]],
        starts: Sequence[Happening],
        everything: Sequence[Happening],
        *,
        with_groups: bool,
    ) -> Generator[None, None, dict[int, tuple[bool, bool]]]:
        """Return for each lapse whether an end may have to wait, and whether the step may overlap itself.

        An end may have to wait if something that it waits for may happen while the step lasts. Literals that hold from
        the start on, and that nothing that may happen meanwhile changes, exclude what needs or makes the opposite (a
        greatest fixed point). `with_groups`, the mutex groups say more about what holds at the start; they are about
        steps that do not overlap themselves.
        """
        found = dict.fromkeys(spans, (False, False))
        locks = self._find_locks(starts, everything)
        for start in starts:
            yield
            if start.lapse < 0:
                continue
            span, kept = spans[start.lapse], through[start.lapse][0]
            known = set(start.literals) | {
                literal for lock in locks if start.lapse in lock for literal in lock[start.lapse]
            }
            if with_groups:
                known |= self._exclude(start.action)
            sure = (
                set(kept)
                | start.makes
                | {(atom, holds) for atom, holds in known if (atom, not holds) not in start.makes}
            )
            others = [each for each in everything if not any(each is end for end in span.ends)]
            while True:
                able = [
                    each
                    for each in others
                    if not any((atom, not holds) in sure for atom, holds in each.literals)
                    and not any((atom, not holds) in kept for atom, holds in each.makes)
                ]
                lost = {(atom, not holds) for each in able for atom, holds in each.makes} & sure
                if not lost:
                    break
                sure -= lost
            may_overlap = any(each.lapse == start.lapse and not each.is_end for each in able)
            if may_overlap:
                able += span.ends
            awaited = {stamp for end in span.ends for stamp, _ in end.waits}
            may_wait = any(
                stamp in awaited for each in able for stamp in (*each.sets, *[stamp for _, stamp in each.firsts])
            )
            waited, overlapped = found[start.lapse]
            found[start.lapse] = waited or may_wait, overlapped or may_overlap
        return found

    def _find_locks(
        self, starts: Sequence[Happening], everything: Sequence[Happening]
    ) -> list[dict[int, set[Literal]]]:
        """Return groups of lapses of which one runs at a time: each with the literals that the others do not run.

        Their starts need a fact and make it false, and nothing but their ends makes it true.
        """
        found: list[dict[int, set[Literal]]] = []
        atoms = {atom for start in starts if start.lapse >= 0 for atom, holds in start.makes if not holds}
        for atom in sorted(atoms, key=str):
            own = {
                start.lapse: (start, ran)
                for start in starts
                if start.lapse >= 0 and (atom, True) in start.literals and (atom, False) in start.makes
                for ran, holds in start.makes
                if holds and self.facts.get(ran) is not None and self.hidden >> self.facts[ran] & 1
            }
            makers = [each for each in everything if (atom, True) in each.makes]
            if all(each.is_end and each.lapse in own for each in makers):
                found.append(
                    {place: {(ran, False) for other, (_, ran) in own.items() if other != place} for place in own}
                )
        return found

    def _exclude(self, action: int) -> set[Literal]:
        """Return the literals that hold where ground `action` can be applied, since no two facts of a group hold."""
        plain = self.task.source.task
        needed = set(plain.actions[action].precondition)
        found: set[Literal] = set()
        for group in (*plain.variables, *plain.mutexes):
            if not needed.isdisjoint(group):
                for fact in set(group) - needed:
                    what = plain.facts[fact]
                    if isinstance(what, Atom):
                        found.add((what, False))
                    elif isinstance(what.part, Atom):
                        found.add((what.part, True))
        return found

    def _keep_copies_apart(self, place: int, span: Span, starts: Sequence[Happening]) -> None:
        """Let steps of one action start at different times, where one of those at one time does as much as all."""
        own = [start for start in starts if start.lapse == place]
        if span.low == span.high and not any(each.effects for each in (*own, *span.ends)):
            stamp = self.stamps.setdefault((BEGUN, place), len(self.stamps))
            for start in own:
                start.waits.append((stamp, 1))
                start.sets.append(stamp)

    def _count_copies(self, place: int, span: Span, starts: Sequence[Happening]) -> int | None:
        """Return how many steps of one action may run at once, given how far apart they start."""
        own = [start for start in starts if start.lapse == place]
        gap = min([max([gap for stamp, gap in start.waits if stamp in start.sets], default=0) for start in own])
        return span.high // gap + 1 if gap and span.high is not None and len(own) == 1 else None

    def _refuse_circles(
        self,
        starts: Sequence[Happening],
        spans: Mapping[int, Span],
        through: Mapping[int, tuple[frozenset[Literal], frozenset[Atom]]],
    ) -> None:
        """Raise `_Untold` if steps may have to start, or to end, at one moment for each other's sake."""
        begins: dict[int, set[int]] = {}
        ends: dict[int, set[int]] = {}
        for place, (literals, fluents) in through.items():
            for start in starts:
                if start.lapse not in (-1, place) and (start.makes & literals or self._changes(start, fluents)):
                    begins.setdefault(start.lapse, set()).add(place)
            broken = {(atom, not holds) for atom, holds in literals}
            for other, span in spans.items():
                if other != place and any(end.makes & broken or self._changes(end, fluents) for end in span.ends):
                    ends.setdefault(place, set()).add(other)
        if _has_circle(begins) or _has_circle(ends):
            raise _Untold

    def _changes(self, happening: Happening, fluents: frozenset[Atom]) -> bool:
        variables = self.task.source.variables
        return any(variables[effect.variable].fluent in fluents for effect in happening.effects)


def _settle_effects(action: Action, binding: Mapping[str, str]) -> Action:
    """Return `action` without conditional effects: which of them happen depends on the `binding` alone.

    Raises `_Untold` where it depends on more.
    """
    sure: list[When] = []
    for each in action.when:
        condition = settle(substitute(each.requires, dict(binding)))
        if each.variables or condition not in (TRUE, FALSE):
            raise _Untold
        sure += [each] if condition == TRUE else []
    return replace(
        action,
        provides=(*action.provides, *[literal for each in sure for literal in each.provides]),
        modifies=(*action.modifies, *[item for each in sure for item in each.modifies]),
        numbers=(*action.numbers, *[number for each in sure for number in each.numbers]),
        when=(),
    )


def settle(condition: Formula) -> Formula:
    """Return the ground `condition` without equalities and without what they settle."""
    match condition:
        case Equals(left, right):
            return TRUE if left == right else FALSE
        case Not(part):
            return negate(settle(part))
        case And(parts):
            return conjoin(map(settle, parts))
        case Or(parts):
            return disjoin(map(settle, parts))
    return condition


def _has_circle(edges: Mapping[int, set[int]]) -> bool:
    done: set[int] = set()

    def visit(node: int, above: frozenset[int]) -> bool:
        if node in above:
            return True
        if node in done:
            return False
        done.add(node)
        return any(visit(each, above | {node}) for each in edges.get(node, ()))

    return any(visit(node, frozenset()) for node in list(edges))
