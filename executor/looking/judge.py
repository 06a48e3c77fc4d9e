"""What a step should have changed, what was seen of it, and what that says about the step."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from executor.looking.beliefs import Beliefs, is_in_place
from executor.looking.observe import Looked
from executor.record.facts import TRUSTED, Note, Provenance
from executor.record.status import StepStatus
from executor.world.results import SURE, ActionResult
from planner.declare.syntax import NotationError, parse_atom
from planner.errors import InputError
from planner.model import Action, Atom, Not
from planner.plan import Step
from planner.records import dataclass
from planner.validate import Changes


@dataclass(frozen=True, slots=True)
class Expected:
    """What a step declares to change, in the state before it.

    `facts` must hold, or not, after it; those in `changed` did not before. `stale` end because something that they rest
    on is written, which no observer can see. `items` are changed in place: their versions must differ from these.
    """

    facts: Mapping[Atom, bool]
    changed: frozenset[Atom]
    stale: frozenset[Atom]
    items: Mapping[Atom, Any]

    @property
    def all(self) -> list[Atom]:
        """All that an observer could see."""
        return [*self.facts, *(item for item in self.items if item not in self.facts)]


def expected(beliefs: Beliefs, step: Step) -> Expected:
    """Return what `step`, which can be applied, should change now."""
    return expected_by(beliefs, beliefs.simulation.changes(step))


def expected_by(beliefs: Beliefs, changes: Changes) -> Expected:
    """Return what a step with these effects should change now."""
    stale = beliefs.stale_by(changes)
    ended = [fact for fact in changes.removed if fact not in stale] if stale else changes.removed
    facts = {**dict.fromkeys(changes.provided, True), **dict.fromkeys(ended, False)}
    items = {item: beliefs.note(item).version for item in changes.modified if is_in_place(item)}
    changed = frozenset([fact for fact in (*changes.added, *ended) if not beliefs.is_internal(fact)])
    return Expected(facts, changed, stale, items)


@dataclass(frozen=True, slots=True)
class Judgement:
    """What is to be said about an attempt.

    It is `known` where all of its effects were conclusively looked at, and `absent` where all of them are missing.
    """

    status: StepStatus
    reason: str
    notes: tuple[Note, ...]
    absent: bool = False
    known: bool = False


def judged(
    action: Action, result: ActionResult, wanted: Expected, looked: Looked, beliefs: Beliefs, *, doubt: str = ""
) -> Judgement:
    """Return what came of an attempt at `action`; `doubt` says why its handler's answer is none, if so."""
    trusts = "trusted" in action.tags
    seen: list[Atom] = []
    missing: list[Atom] = []
    unseen: list[Atom] = []
    for fact, holds in wanted.facts.items():
        found = looked.seen.get(fact)
        if found is None:
            if not (result.success and not doubt and (trusts or beliefs.is_trusted(fact))):
                unseen.append(fact)
        else:
            (seen if found is holds else missing).append(fact)
    for item, old in wanted.items.items():
        _judge_item(item, old, looked, (seen, missing, unseen), trusts=trusts or beliefs.is_trusted(item))
    status, reason = _status(result, wanted, (seen, missing, unseen), doubt)
    effects = [*wanted.changed, *wanted.items]
    known = bool(effects) and looked.conclusive.issuperset(effects) and set(unseen).isdisjoint(effects)
    absent = known and set(missing).issuperset(effects)
    if status is StepStatus.IN_DOUBT and absent:
        status, reason = StepStatus.FAILED, f"{doubt}, and it did not happen"
    notes = (
        *_notes(action, result, wanted, looked, beliefs=beliefs, status=status, doubt=doubt),
        *_reported(result, looked),
    )
    return Judgement(status, reason, notes, absent, known)


def _judge_item(item: Atom, old: Any, looked: Looked, lists: tuple[list[Atom], ...], *, trusts: bool) -> None:
    seen, missing, unseen = lists
    version = looked.versions.get(item)
    if version is None or old is None:
        if not trusts:
            unseen.append(item)
    else:
        (missing if version == old else seen).append(item)


def _status(  # noqa: PLR0911 - a line for each case
    result: ActionResult, wanted: Expected, lists: tuple[list[Atom], list[Atom], list[Atom]], doubt: str
) -> tuple[StepStatus, str]:
    seen, missing, unseen = lists
    came = [fact for fact in seen if fact in wanted.changed or fact in wanted.items]
    said = doubt or result.error or "the handler said that it failed"
    if doubt or not result.success:
        if came and not missing and not unseen:
            return StepStatus.SUCCEEDED, f"{said}, but all its effects were seen"
        if came:
            return StepStatus.PARTIAL, f"{said}; of its effects, {_listed(came)} came about"
        return (StepStatus.IN_DOUBT if doubt else StepStatus.FAILED), said
    if missing:
        if came:
            return StepStatus.PARTIAL, f"its effect {_listed(missing, wanted)} did not come about"
        return StepStatus.FAILED, f"the handler reports success, but {_listed(missing, wanted)} was not seen"
    if unseen:
        return StepStatus.UNVERIFIED, f"nobody looked at {_listed(unseen, wanted)}"
    if result.confidence < SURE:
        return StepStatus.UNVERIFIED, f"the handler is sure only to {result.confidence:g}"
    return StepStatus.SUCCEEDED, ""


def _listed(facts: Iterable[Atom], wanted: Expected | None = None) -> str:
    named = [f"not {fact}" if wanted and wanted.facts.get(fact) is False else str(fact) for fact in facts]
    return ", ".join(named[:3]) + (f" and {len(named) - 3} more" if len(named) > 3 else "")


def _notes(
    action: Action,
    result: ActionResult,
    wanted: Expected,
    looked: Looked,
    *,
    beliefs: Beliefs,
    status: StepStatus,
    doubt: str,
) -> Iterator[Note]:
    """Yield what is to be believed about the declared effects."""
    observed = {note.fact: note for note in looked.notes}
    done = status.is_done or status is StepStatus.PARTIAL
    source = (Provenance.REPORTED, TRUSTED) if "trusted" in action.tags else (Provenance.ASSUMED, "")
    for fact, holds in wanted.facts.items():
        if fact in observed:
            yield observed[fact]
        elif result.success and not doubt and (done or not beliefs.is_internal(fact)):
            yield Note(fact, holds, *source)
        elif beliefs.holds(fact) is not holds and doubt:
            yield Note(fact, None, Provenance.UNKNOWN, doubt)
    if done:
        for fact in wanted.stale:
            yield Note(fact, False, Provenance.STALE)  # noqa: FBT003 - a truth value
        for item in wanted.items:
            if item in observed and item not in wanted.facts:
                yield observed[item]


def _reported(result: ActionResult, looked: Looked) -> Iterator[Note]:
    """Yield the facts that the handler reports, where no observer has looked."""
    for literal in result.observed:
        fact, holds = literal_of(literal)
        if fact not in looked.seen:
            yield Note(fact, holds, Provenance.REPORTED)


def literal_of(literal: Any) -> tuple[Atom, bool]:
    """Return the fact of a literal, given as a value or as text, and whether it holds; raises `InputError`."""
    match literal:
        case Atom():
            return literal, True
        case Not(Atom() as fact):
            return fact, False
        case str():
            text = literal.strip()
            holds = not text.startswith("not ")
            try:
                return parse_atom(text if holds else text[4:].strip()), holds
            except NotationError as mistake:
                raise InputError(f"{literal!r} is no fact: {mistake.problem}", hint=mistake.hint) from None
        case _:
            raise InputError(f"{literal!r} is no fact", hint="a fact is written at(r1, hall), or not at(r1, hall)")
