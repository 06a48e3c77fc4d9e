"""Judge a step by its declared effects and the observations of them.

For an action with several outcomes, `judge_outcomes` finds the one that came about.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any, Final

from executor.events.events import TRUSTED, UNCONFIRMED, Note, Provenance, StepStatus
from executor.events.fluent_values import FluentValue, item_of, value_of
from executor.observe.beliefs import Beliefs, is_in_place
from executor.observe.observe import LookResult
from executor.observe.reports import Report
from executor.tools.results import SURE, ActionResult
from planner.lightweight import dataclass, field, replace
from planner.model import Action, Atom, Formula, Number, Outcome
from planner.model.arithmetic import Exact
from planner.model.unknown_numbers import known_fact
from planner.plan import Step
from planner.semantics.simulation import Simulation
from planner.semantics.step_effects import Changes


@dataclass(frozen=True, slots=True)
class Expected:
    """Expected effects of a step in the present state.

    `facts` are the values of facts after the step; those in `changed` differ before it. `stale` facts end because the
    step writes a fact that they rest on; no observer can see that. `items` are changed in place, with their versions
    before. `asked` are unknown facts that the step is to sense. The facts of listings in `unlisted` end because the
    step may add items: they are no effects in the world, and a look may say at once that all items are known again.
    `before` has the values of numeric fluents before the step, by the expected ones, which are among `facts`.
    """

    facts: Mapping[Atom, bool]
    changed: frozenset[Atom]
    stale: frozenset[Atom]
    items: Mapping[Atom, Any]
    conditions: tuple[Formula, ...] = ()
    looks: tuple[Atom, ...] = ()
    asked: tuple[Atom, ...] = ()
    unlisted: frozenset[Atom] = frozenset()
    before: Mapping[FluentValue, FluentValue] = field(default_factory=dict)

    @property
    def all(self) -> list[Atom]:
        """All facts that an observer could see."""
        if not (self.items or self.looks or self.asked):
            return list(self.facts)
        return list(dict.fromkeys([*self.facts, *self.items, *self.looks, *self.asked]))

    def is_missed(self, looked: LookResult, beliefs: Beliefs) -> bool:
        """Return whether an effect was seen to be missing, or observers disagree about one: it may still come about."""
        if any(note.holds is None and (note.fact in self.facts or note.fact in self.items) for note in looked.notes):
            return True
        for fact, holds in self.facts.items():
            if looked.seen.get(fact, holds) is not holds:
                return True
        if any(fact in looked.versions and looked.versions[fact] == old for fact, old in self.items.items()):
            return True
        if not self.conditions:
            return False
        notes = [Note(fact, holds, Provenance.ASSUMED) for fact, holds in self.facts.items()]
        after = beliefs.after([*notes, *looked.notes])
        return not all(after.is_true(each) for each in self.conditions)


def expect_effects(beliefs: Beliefs, step: Step) -> Expected:
    """Return the expected effects of `step`, which is applicable."""
    return expect_changes(beliefs, beliefs.simulation.changes(step))


def expect_changes(beliefs: Beliefs, changes: Changes) -> Expected:
    """Return the expected effects of a step with these `changes`.

    That a number is known is none unless the step sets it: it follows from the value that somebody tells.
    """
    assigned = {known_fact(each.fluent) for each in changes.numbers}
    told = {fact for fact in changes.provided if beliefs.is_known_number(fact) and fact not in assigned}
    stale = beliefs.find_stale(changes)
    unlisted = frozenset(filter(beliefs.is_listing, changes.removed))
    ended = [fact for fact in changes.removed if fact not in stale and fact not in unlisted]
    unsure = [fact for fact in beliefs.unknown if any(pattern.matches(fact) for pattern in changes.retracted)]
    before = {_value(each.fluent, each.after): _value(each.fluent, each.before) for each in changes.numbers}
    provided = [fact for fact in changes.provided if fact not in told]
    facts = {**dict.fromkeys([*unsure, *ended], False), **dict.fromkeys([*provided, *before], True)}
    items = {item: beliefs.note(item).version for item in changes.modified if is_in_place(item)}
    moved = [after for after, old in before.items() if after != old]
    came = [fact for fact in (*changes.added, *ended) if not beliefs.is_internal(fact) and fact not in told]
    changed = frozenset([*moved, *came])
    return Expected(facts, changed, stale - unlisted, items, unlisted=unlisted, before=before)


def _value(fluent: Atom, value: Exact | None) -> FluentValue:
    return value_of((fluent.predicate, fluent.args), value)


@dataclass(frozen=True, slots=True)
class Judgement:
    """Verdict on an attempt: the status of the step, with a reason, and notes on its effects.

    It is `known` if all effects were conclusively observed, and `absent` if all of them are missing. `way` is the index
    of the outcome, if it is known.
    """

    status: StepStatus
    reason: str
    notes: tuple[Note, ...]
    absent: bool = False
    known: bool = False
    way: int | None = None


def judge(
    action: Action,
    result: ActionResult,
    expected: Expected,
    looked: LookResult,
    beliefs: Beliefs,
    *,
    reported: Mapping[Atom, bool] | None = None,
    doubt: str = "",
) -> Judgement:
    """Judge an attempt at `action` by its result and the observations.

    `reported` are the facts that the handler reports in its result; `doubt` is the reason if there is no result.
    """
    reported = reported or {}
    trusts, doubts = _is_trusted(action), "unconfirmed" in action.tags
    seen: list[Formula] = []
    missing: list[Formula] = []
    unseen: list[Formula] = []
    said = result.success and not doubt
    disputed = {note.fact for note in looked.notes if note.holds is None}
    drifts: list[str] = []
    for fact, holds in expected.facts.items():
        found = looked.seen.get(fact)
        if isinstance(fact, FluentValue):
            drift = _find_drift(fact, expected, looked, reported, beliefs)
            if drift is not None:
                drifts += _judge_drift(drift, (seen, missing, unseen), said=said, is_seen=found is not None)
                continue
        if found is None and reported.get(fact, holds) is holds:
            believes = trusts or (beliefs.is_trusted(fact) and not doubts)
            if not (said and believes) or fact in disputed:
                unseen.append(fact)
        else:
            (seen if found is holds else missing).append(fact)
    for item, old in expected.items.items():
        believes = trusts or (beliefs.is_trusted(item) and not doubts)
        _judge_item(item, old, looked, (seen, missing, unseen), trusts=believes)
    if said:
        untold = [fact for fact in expected.asked if not _is_answered(fact, looked, reported)]
        unseen += [fact.fluent if isinstance(fact, FluentValue) else fact for fact in untold]
    if expected.conditions:
        notes = _note_effects(action, result, expected, looked, reported, beliefs=beliefs, done=True, doubt=doubt)
        _judge_conditions(expected, looked, beliefs.after([*looked.notes, *notes]), (seen, missing, unseen))
    status, reason = _decide_status(result, expected, (seen, missing, unseen), doubt, looked=looked, reported=reported)
    effects = [*expected.changed, *expected.items]
    known = bool(effects) and looked.conclusive.issuperset(effects) and set(unseen).isdisjoint(effects)
    absent = known and set(missing).issuperset(effects)
    if "irreversible" in action.tags:
        is_number_alone = all(isinstance(each, FluentValue) for each in effects)
        absent = absent and looked.settled.issuperset(effects) and not is_number_alone
        if status is StepStatus.PARTIAL and (doubt or not _is_settled(expected, missing, unseen, looked)):
            status = StepStatus.IN_DOUBT  # a part of it happened, and nobody knows of the rest
        if is_number_alone and status in {StepStatus.SUCCEEDED, StepStatus.PARTIAL} and not said:
            status = StepStatus.IN_DOUBT  # somebody else may have changed the number
    if status is StepStatus.IN_DOUBT and absent:
        status, reason = StepStatus.FAILED, f"{doubt or reason}, and it did not happen"
    done = status.is_done or status is StepStatus.PARTIAL
    reason = "; ".join([*([reason] if reason else []), *drifts]) if done else reason
    notes = _note_effects(action, result, expected, looked, reported, beliefs=beliefs, done=done, doubt=doubt)
    more = _note_further_reports(action, result, reported, expected, looked, beliefs=beliefs) if reported else ()
    unlisted = _note_unlisted(expected, looked) if expected.unlisted and not absent else ()
    return Judgement(status, reason, (*notes, *more, *unlisted), absent, known)


def _is_settled(
    expected: Expected, missing: Iterable[Formula], unseen: Collection[Formula], looked: LookResult
) -> bool:
    """Return whether observers that state their delay saw all effects of an irreversible step that did not come about.

    Facts that were so before the step are no effects.
    """
    effects = {*expected.changed, *expected.items}
    return effects.isdisjoint(unseen) and looked.settled.issuperset(effects.intersection(missing))


def _is_answered(fact: Atom, looked: LookResult, reported: Mapping[Atom, bool]) -> bool:
    """Return whether somebody has told whether `fact` holds, or which value its fluent has."""
    if not isinstance(fact, FluentValue):
        return fact in looked.seen or fact in reported
    told = [each for facts in (looked.seen, reported) for each, holds in facts.items() if holds]
    return any(isinstance(each, FluentValue) and each.any == fact.any and each.value is not None for each in told)


@dataclass(frozen=True, slots=True)
class _Drift:
    """A fluent has the value `now`, where another one was `expected`; `before` is that before the step."""

    expected: FluentValue
    before: FluentValue
    now: FluentValue
    tolerance: Number

    @property
    def is_unmoved(self) -> bool:
        """Whether the value is the one from before the step, or there is none."""
        return self.now.value is None or self.now.is_near(self.before, self.tolerance)

    @property
    def is_towards(self) -> bool:
        """Whether the value moved in the direction of the effect."""
        old, now, wanted = self.before.value, self.now.value, self.expected.value
        if old is None or now is None or wanted is None:
            return True
        return (now > old) is (wanted > old)

    def __str__(self) -> str:
        return f"{self.now} where {self.expected.args[-1]} was expected"


def _find_drift(
    fact: FluentValue, expected: Expected, looked: LookResult, reported: Mapping[Atom, bool], beliefs: Beliefs
) -> _Drift | None:
    """Return how the observed, or else the reported, value differs from the expected one; None if it does not."""
    if looked.seen.get(fact):
        return None
    notes = [note.fact for note in looked.notes if note.holds and item_of(note.fact) == fact.any]
    if fact not in looked.seen:
        notes = [each for each, holds in reported.items() if holds and item_of(each) == fact.any]
    elif not notes:
        notes = [value_of(fact.key, None)]
    tolerance = beliefs.simulation.problem.domain.functions[fact.predicate].tolerance
    for now in notes:
        assert isinstance(now, FluentValue)
        if not now.is_near(fact, tolerance):
            return _Drift(fact, expected.before.get(fact, beliefs.value(fact.fluent)), now, tolerance)
    return None


def _judge_drift(drift: _Drift, lists: tuple[list[Formula], ...], *, said: bool, is_seen: bool) -> list[str]:
    """Sort an effect on a fluent with an unexpected value into the lists; return what to say of it.

    An unmoved value is a missing effect. If the handler has `said` that it succeeded, any other value is believed to be
    what came of the step. Otherwise it shows that something has happened if it moved in the direction of the effect.
    """
    seen, missing, unseen = lists
    if drift.is_unmoved:
        missing.append(drift.expected)
        return []
    if said:
        (seen if is_seen else unseen).append(drift.expected)
        return [str(drift)]
    if drift.is_towards and is_seen:
        seen.append(drift.expected)
    unseen.append(drift.expected)
    return [str(drift)]


def _is_trusted(action: Action) -> bool:
    """Return whether the word of the handler of `action` counts as an observation."""
    return "trusted" in action.tags and "unconfirmed" not in action.tags


def _judge_conditions(expected: Expected, looked: LookResult, after: Beliefs, lists: tuple[list[Formula], ...]) -> None:
    """Sort the further conditions of `expected` into the lists, by the beliefs `after` the step."""
    seen, missing, unseen = lists
    for condition in expected.conditions:
        if not after.is_true(condition):
            missing.append(condition)
        elif after.find_decisive(condition, lambda fact: fact not in looked.seen and not after.is_trusted(fact)):
            unseen.append(condition)
        else:
            seen.append(condition)


def _judge_item(item: Atom, old: Any, looked: LookResult, lists: tuple[list[Formula], ...], *, trusts: bool) -> None:
    seen, missing, unseen = lists
    version = looked.versions.get(item)
    if version is None or old is None:
        if not trusts:
            unseen.append(item)
    else:
        (missing if version == old else seen).append(item)


def _decide_status(
    result: ActionResult,
    expected: Expected,
    lists: tuple[list[Formula], list[Formula], list[Formula]],
    doubt: str,
    *,
    looked: LookResult,
    reported: Mapping[Atom, bool],
) -> tuple[StepStatus, str]:
    seen, missing, unseen = lists
    came = [fact for fact in seen if fact in expected.changed or fact in expected.items]
    said = doubt or result.error or "the handler said that it failed"
    if doubt or not result.success:
        if came and not missing and not unseen:
            return StepStatus.SUCCEEDED, f"{said}, but all its effects were seen"
        if came:
            return StepStatus.PARTIAL, f"{said}; of its effects, {_join_facts(came, expected)} came about"
        return (StepStatus.IN_DOUBT if doubt else StepStatus.FAILED), said
    if missing:
        if came:
            return StepStatus.PARTIAL, f"its effect {_join_facts(missing, expected)} did not come about"
        told = {str(fact): holds for fact, holds in reported.items() if fact not in looked.seen}
        if told.keys() >= set(map(str, missing)):
            opposite = [str(fact) if told[str(fact)] else f"not {fact}" for fact in missing]
            return StepStatus.FAILED, f"what was reported is {', '.join(opposite)}"
        return StepStatus.FAILED, f"the handler reports success, but {_join_facts(missing, expected)} was not seen"
    if unseen:
        return StepStatus.UNVERIFIED, _explain_unseen(unseen, expected, looked)
    if result.confidence < SURE:
        return StepStatus.UNVERIFIED, f"the handler is sure only to {result.confidence:g}"
    return StepStatus.SUCCEEDED, ""


def _explain_unseen(unseen: Sequence[Formula], expected: Expected, looked: LookResult) -> str:
    """Explain why effects were not seen: errors and contradictions of observers, and effects without a look."""
    reported = {fact: each.reason for each in looked.disagreements for fact in each.facts}
    reasons = dict.fromkeys([reported[fact] for fact in unseen if isinstance(fact, Atom) and fact in reported])
    others = [fact for fact in unseen if fact not in reported]
    return "; ".join([*reasons, *([f"nobody looked at {_join_facts(others, expected)}"] if others else [])])


def _join_facts(facts: Iterable[Formula], expected: Expected) -> str:
    denied = {fact for fact, holds in expected.facts.items() if not holds}
    named = [f"not {fact}" if fact in denied else str(fact) for fact in facts]
    return ", ".join(named[:3]) + (f" and {len(named) - 3} more" if len(named) > 3 else "")


def _note_effects(
    action: Action,
    result: ActionResult,
    expected: Expected,
    looked: LookResult,
    reported: Mapping[Atom, bool],
    *,
    beliefs: Beliefs,
    done: bool,
    doubt: str,
) -> Iterator[Note]:
    """Yield notes on the declared effects: observations override reports, and reports override declarations."""
    observed = {item_of(note.fact): note for note in looked.notes}
    told = {item_of(fact): fact for fact in reported}
    trusted, unsure = _is_trusted(action), UNCONFIRMED if "unconfirmed" in action.tags else ""
    for fact, holds in expected.facts.items():
        item = item_of(fact)
        if item in observed:
            yield observed[item]
        elif item in told:
            said = told[item]
            source = TRUSTED if trusted and said == fact and reported[said] is holds else unsure
            yield Note(said, reported[said], Provenance.REPORTED, source)
        elif result.success and not doubt and done:
            is_declared = Note(fact, holds, Provenance.ASSUMED, unsure)
            yield Note(fact, holds, Provenance.REPORTED, TRUSTED) if trusted else is_declared
        elif beliefs.holds(fact) is not holds and doubt and not beliefs.is_listing(fact):
            yield Note(fact, None, Provenance.UNKNOWN, doubt)
    if done:
        for fact in expected.stale:
            yield Note(fact, False, Provenance.STALE)
        for item in expected.items:
            if item in observed and item not in expected.facts:
                yield observed[item]


def _note_unlisted(expected: Expected, looked: LookResult) -> Iterator[Note]:
    """Yield notes that all items are no longer known of what the step may have added to, unless it was seen anew."""
    for fact in expected.unlisted:
        yield next((note for note in looked.notes if note.fact == fact), Note(fact, False, Provenance.ASSUMED))


def _note_further_reports(
    action: Action,
    result: ActionResult,
    reported: Mapping[Atom, bool],
    expected: Expected,
    looked: LookResult,
    *,
    beliefs: Beliefs,
) -> Iterator[Note]:
    """Yield notes on reported facts that are no declared effects and were not observed; stale facts stay stale.

    A report on a fact that the step declares to sense counts as an observation.
    """
    unsure = UNCONFIRMED if "unconfirmed" in action.tags else ""
    items, asked = {item_of(fact) for fact in (*looked.seen, *expected.facts)}, set(map(item_of, expected.asked))
    for fact, holds in reported.items():
        known = item_of(fact) in items or fact in expected.stale or beliefs.is_stale(fact)
        if not known:
            sensed = result.success and result.confidence >= SURE and item_of(fact) in asked and not unsure
            provenance, source = (Provenance.OBSERVED, action.name) if sensed else (Provenance.REPORTED, unsure)
            yield Note(fact, holds, provenance, source)


OTHERWISE: Final = "it came out in another way that its action declares"


def expect_alternatives(beliefs: Beliefs, step: Step) -> list[Expected]:
    """Return the expected effects of the other outcomes of `step`, which is applicable."""
    action = beliefs.simulation.problem.domain.actions[step.action]
    variants = [
        replace(action, provides=each.provides, modifies=each.modifies, numbers=each.numbers)
        for each in _find_other_outcomes(action)
    ]
    return [expect_changes(beliefs, _simulate_with(beliefs, each).changes(step)) for each in variants]


def _find_other_outcomes(action: Action) -> list[Outcome]:
    return [each for each in action.outcomes if not _is_intended(each, action)]


def _is_intended(outcome: Outcome, action: Action) -> bool:
    declared = action.provides, action.modifies, action.numbers
    return (outcome.provides, outcome.modifies, outcome.numbers) == declared


def label_outcomes(action: Action) -> list[str]:
    """Return the labels of the outcomes of `action`: the intended one, then those of `expect_alternatives`."""
    first = [each for each in action.outcomes if _is_intended(each, action)][:1]
    declared = Outcome(Decimal(1), action.provides, action.modifies, numbers=action.numbers)
    return [label_outcome(each) for each in (*(first or [declared]), *_find_other_outcomes(action))]


def label_outcome(outcome: Outcome) -> str:
    """Return the label of `outcome` in the records of runs: its name, or else its effects."""
    effects = [*map(str, outcome.provides), *(f"modifies {each}" for each in (*outcome.modifies, *outcome.numbers))]
    return outcome.name or ", ".join(effects) or "nothing"


def _simulate_with(beliefs: Beliefs, action: Action) -> Simulation:
    """Return the believed state in a domain with this version of `action`."""
    now = beliefs.problem
    return Simulation(replace(now, domain=replace(now.domain, actions={**now.domain.actions, action.name: action})))


def judge_outcomes(
    ways: Sequence[Expected],
    judge: Callable[[Expected], Judgement],
    looked: LookResult,
    beliefs: Beliefs,
    *,
    reported: Mapping[Atom, bool],
    doubt: str,
    odds: Sequence[Decimal] = (),
) -> Judgement:
    """Judge a step that may have come out in several `ways`, the first of them intended, by `judge` for each.

    Another way is chosen if observations, or else `reported` facts, contradict the ways before it, and support it or
    were conclusive for all effects. A report of what held before supports its way, too. If the intended way is no
    outcome, `odds` are the probabilities of the others: of several that fit, the likeliest is assumed.
    """
    intended = judge(ways[0])
    known = {**reported, **looked.seen}
    about = dict.fromkeys(fact for way in ways for fact in way.facts)
    changed = frozenset(fact for way in ways for fact in way.changed)
    fitting = [way for way in ways if _is_consistent(way, known, about, beliefs)]
    certain = looked.conclusive.issuperset(changed) and looked.seen.keys() >= changed
    supported = [way for way in fitting if _is_supported(way, known) or _is_told(way, reported, fitting)]
    chances = dict(enumerate(odds, start=1))
    order = sorted(range(len(ways)), key=lambda number: -chances.get(number, Decimal(2)))
    likely = next((ways[number] for number in order if number in chances and ways[number] in fitting), None)
    if likely is not None and not (supported or doubt) and (assumed := judge(likely)).status.is_done:
        return assumed
    if ways[0] in fitting and (ways[0] in supported or not supported):
        is_known = intended.status is StepStatus.SUCCEEDED or ways[0] in supported
        return replace(intended, way=0) if is_known and intended.status.is_done else intended
    for number in order:
        way = ways[number]
        if way not in fitting:
            continue
        found = judge(way)
        if found.status.is_done and (certain or way in supported):
            others = tuple([note for note in looked.notes if note.fact in about and note.fact not in way.facts])
            news = tuple([note for note in others if note.holds is not beliefs.holds(note.fact)])
            known_way = number if certain or len(supported) == 1 else None
            return replace(found, reason=found.reason or OTHERWISE, notes=(*found.notes, *news), way=known_way)
    if not intended.absent or certain:
        return intended
    status = StepStatus.IN_DOUBT if doubt else intended.status
    return replace(intended, status=status, absent=False, known=False)


def list_odds(action: Action) -> list[Decimal]:
    """Return the probabilities of the outcomes of `action` if what it intends is none of them."""
    others = _find_other_outcomes(action)
    return [each.probability for each in others] if len(others) == len(action.outcomes) else []


def find_contradictions(ways: Sequence[Expected], report: Report, looked: LookResult, beliefs: Beliefs) -> list[Atom]:
    """Return the facts that `report` makes unknown, as it says yes and no to them, or names effects of several `ways`.

    Where it does so about what tells the ways apart, nothing of that is known. What was seen is not disputed.
    """
    about = [fact for fact in dict.fromkeys(fact for way in ways for fact in way.facts) if fact not in looked.seen]
    apart = [fact for fact in about if len({way.facts.get(fact, beliefs.holds(fact)) for way in ways}) > 1]
    told = {fact: holds for fact, holds in report.facts.items() if fact in about}
    agreeing = [way for way in ways if any(way.facts.get(fact) is holds for fact, holds in told.items())]
    is_mixed = len(agreeing) > 1 and not any(_is_consistent(way, told, about, beliefs) for way in ways)
    twofold = [fact for fact in report.contradicted if fact not in looked.seen]
    return list(dict.fromkeys([*twofold, *(apart if is_mixed or not set(apart).isdisjoint(twofold) else ())]))


def _is_consistent(way: Expected, known: Mapping[Atom, bool], about: Iterable[Atom], beliefs: Beliefs) -> bool:
    """Return whether `known` facts do not contradict `way`."""
    return all(known[fact] is way.facts.get(fact, beliefs.holds(fact)) for fact in about if fact in known)


def _is_supported(way: Expected, known: Mapping[Atom, bool]) -> bool:
    """Return whether some effect of `way` is known to have come about."""
    return any(known.get(fact) is way.facts[fact] for fact in way.changed)


def _is_told(way: Expected, reported: Mapping[Atom, bool], others: Iterable[Expected]) -> bool:
    """Return whether an effect of `way` was reported that the `others` do not all have, also one that held before."""
    told = [fact for fact, holds in way.facts.items() if reported.get(fact) is holds]
    return any(other.facts.get(fact) is not way.facts[fact] for fact in told for other in others)
