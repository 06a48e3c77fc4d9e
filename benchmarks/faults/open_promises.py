"""The promises about objects that turn up, checked against the events, the calls and the world of a run.

What a run knew of an order is read from what its sources told: answers of observers, listings, results and what steps
created. Nothing here asks the executor what it believes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from benchmarks.faults.fault_run import Carried, Restored
from benchmarks.faults.fault_setting import TIMEOUT, Setting
from benchmarks.faults.open_world import OVER_ALL, OpenWorld
from executor.events.events import Event, ObjectsFound, RunStatus
from executor.testing import FaultKind
from executor.testing.simulated_handlers import Call, Told
from executor.testing.simulated_observers import Sighting
from executor.testing.true_state import Act
from planner.model import Atom
from planner.problem_kinds import classical_of
from planner.semantics.simulation import Simulation

INSTANT: Final = 1e-9
WRITERS: Final = frozenset({"phone"})
"""The actions that add orders."""
NEEDS_PENDING: Final = frozenset({"pack", "charge", "close"})


@dataclass(frozen=True, slots=True)
class OpenEvidence:
    """What is known about one run in an open world; `known` are the orders that its problem has.

    `is_told_truly`: no observer and no listing said what is not so, and of two observers none disagreed.
    """

    world: OpenWorld
    known: frozenset[str]
    status: RunStatus
    events: Sequence[tuple[float, Event]]
    calls: Sequence[Call]
    acts: Sequence[Act]
    sightings: Sequence[Sighting]
    listings: Sequence[Told]
    conclusive: bool
    lag: float
    is_told_truly: bool
    state_at: Callable[[float], Simulation]
    strangers: Sequence[Atom] = ()
    restored: Sequence[Restored] = ()
    created: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, setting: Setting, carried: Carried) -> OpenEvidence:
        """Return the evidence of a run that has an outcome."""
        assert setting.open_world is not None
        assert carried.outcome is not None
        simulated, kinds = carried.simulated, {fault.kind for fault in setting.faults}
        doubtful = {FaultKind.LISTING_SHORT, FaultKind.RESULT_STRANGER, FaultKind.OBSERVER_STRANGER}
        return cls(
            setting.open_world,
            frozenset(each.name for each in classical_of(setting.plan.problem).all_objects),
            carried.outcome.status,
            carried.events,
            simulated.calls,
            simulated.acts,
            simulated.sightings,
            simulated.listings,
            setting.observe.conclusive,
            setting.observe.lag,
            not (simulated.lies or simulated.disputed or kinds & doubtful),
            simulated.truth.at,
            simulated.strangers,
            carried.restored,
            carried.outcome.state.objects.created,
        )

    def received(self) -> Iterator[Told]:
        """Yield what listings told before somebody stopped to wait for them."""
        for told in self.listings:
            called = max((call.at for call in self.calls if call.by == told.by and call.at <= told.at), default=told.at)
            if told.at - called < TIMEOUT:
                yield told

    def was_complete_at(self, when: float) -> float | None:
        """Return the latest time up to `when` at which a source said that it named all pending orders; None without."""
        whole = Atom("pending", ("_",))
        looks = [each.at for each in self.sightings if self.conclusive and each.about == whole]
        times = [
            *looks,
            *(each.at for each in self.received() if each.success),
            *([0.0] if self.world.is_listed else []),
        ]
        return max((each for each in times if each <= when), default=None)

    def list_words(self, order: str, until: float) -> list[tuple[float, bool]]:
        """Return what sources said about whether `order` is pending, with the times, in order."""
        fact = Atom("pending", (order,))
        said = [(each.at, holds) for each in self.sightings if (holds := each.says(fact)) is not None]
        said += [(each.at, fact in each.named) for each in self.received() if each.success or fact in each.named]
        said += [
            (each.at, fact in each.added) for each in self.acts if each.by and fact in (*each.added, *each.removed)
        ]
        return sorted(word for word in said if word[0] <= until)

    def named_by(self, when: float) -> set[str]:
        """Return the orders that a source had named by the time `when`."""
        facts = [fact for each in self.sightings if each.at <= when for fact in each.seen]
        facts += [fact for each in self.listings if each.at <= when for fact in each.named]
        made = [name for act in self.acts if act.at <= when for name, _ in act.created]
        return {*self.known, *made, *(arg for fact in (*facts, *self.strangers) for arg in fact.args)}


def find_broken_open_promises(evidence: OpenEvidence) -> list[str]:
    """Return which promises about objects that turn up the run broke, in words."""
    checks = (
        find_unmet_successes,
        find_unlisted_successes,
        find_unlisted_closings,
        find_acts_on_unnamed,
        find_acts_on_vanished,
        find_forgotten_objects,
    )
    return [found for check in checks for found in check(evidence)]


def find_unmet_successes(evidence: OpenEvidence) -> Iterator[str]:
    """Yield that a run succeeded though the goal did not hold when its last sources spoke, nor at the end.

    This includes the orders of which no source has told: the last source has to name them, unless it lies.
    """
    if evidence.status not in {RunStatus.SUCCEEDED, RunStatus.LOWERED} or not evidence.is_told_truly:
        return
    wanted = evidence.world.promised(wishes=evidence.status is RunStatus.SUCCEEDED)
    end = evidence.events[-1][0]
    whole = Atom("pending", ("_",))
    spoke = max([0.0, *(each.at for each in evidence.sightings if each.about == whole)]) - evidence.lag
    times = {end, end - evidence.lag, spoke}
    if not any(evidence.state_at(each).holds(wanted) for each in times):
        left = sorted(map(str, evidence.state_at(end).world.state.matching(whole)))
        yield f"the run succeeded, though {wanted} does not hold: {', '.join(left)}"


def find_unlisted_successes(evidence: OpenEvidence) -> Iterator[str]:
    """Yield that a run succeeded at what is about all orders, with no complete source since an order was added."""
    if evidence.status is RunStatus.SUCCEEDED and evidence.world.name in OVER_ALL - {"locked"}:
        yield from _find_incompleteness(evidence, evidence.events[-1][0], "the run succeeded")


def find_unlisted_closings(evidence: OpenEvidence) -> Iterator[str]:
    """Yield the calls of `lock_up` without a complete source, or while a source said that an order is pending."""
    for call in evidence.calls:
        if call.step.predicate != "lock_up":
            continue
        yield from _find_incompleteness(evidence, call.at, "it was locked up")
        for order in sorted(evidence.named_by(call.at)):
            words = evidence.list_words(order, call.at)
            if evidence.is_told_truly and words and words[-1][1]:
                yield f"it was locked up at {call.at:g}, though {order} was said to be pending at {words[-1][0]:g}"


def _find_incompleteness(evidence: OpenEvidence, when: float, what: str) -> Iterator[str]:
    told = evidence.was_complete_at(when)
    if told is None:
        yield f"{what} at {when:g}, and nothing had said that all orders are known"
        return
    later = [act for act in evidence.acts if act.step is not None and act.step.predicate in WRITERS]
    for act in later:
        if told + INSTANT < act.at <= when and act.by:
            yield f"{what} at {when:g}, and nothing said that all orders are known after {act.step} at {act.at:g}"


def find_acts_on_unnamed(evidence: OpenEvidence) -> Iterator[str]:
    """Yield the calls of handlers for orders that no source had named."""
    for call in evidence.calls:
        yield from (
            f"{call.step} was called at {call.at:g}, and nothing had named {arg}"
            for arg in call.step.args
            if arg not in evidence.named_by(call.at)
        )


def find_acts_on_vanished(evidence: OpenEvidence) -> Iterator[str]:
    """Yield the calls for orders of which the latest word, by a conclusive observer, was that they are not pending."""
    if not (evidence.conclusive and evidence.is_told_truly):
        return
    for call in evidence.calls:
        if call.step.predicate not in NEEDS_PENDING:
            continue
        words = evidence.list_words(call.step.args[0], call.at)
        before = [word for word in words if word[0] < call.at - INSTANT]
        if before and not before[-1][1] and not any(holds for at, holds in words if at >= before[-1][0]):
            yield f"{call.step} was called at {call.at:g}, though it was seen not to be pending at {before[-1][0]:g}"


def find_forgotten_objects(evidence: OpenEvidence) -> Iterator[str]:
    """Yield the objects that had joined the run and that it did not know when it was taken up again.

    An object that a step created meanwhile goes by the name of its placeholder.
    """
    made = {*evidence.created.values()}
    for each in evidence.restored:
        found = {
            name: types
            for _, event in evidence.events[: each.events]
            if isinstance(event, ObjectsFound)
            for name, types in event.objects.items()
        }
        for name, types in found.items():
            if name not in made and each.objects.get(name) != types:
                yield f"{name} had turned up as {types}, and when the run was taken up it was {each.objects.get(name)}"
