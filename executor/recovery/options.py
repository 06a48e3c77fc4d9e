"""Find what a run may do next: the remaining steps, those that still work, and the actions that it may not try."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from executor.events.events import BEGUN, StepStatus
from executor.events.failures import Tried
from executor.events.remaining_budget import can_be_paid, subtract_spent
from executor.events.run_state import RunState
from executor.events.steps import StepRecord
from executor.plans.partial_order import predecessors_of
from executor.plans.suppositions import find_looks, parse_suppositions
from planner.language.declare.fields import CodePlace
from planner.lightweight import replace
from planner.model import Atom, Goal, Problem
from planner.model.problem import seal, with_limits_of
from planner.model.unknown_facts import fix_unknown_facts, restrict_unknown_facts
from planner.plan import Step
from planner.repair.forbidden_steps import disable_actions
from planner.repair.regression import Unclear, find_furthest_reentry
from planner.semantics.constraint_monitors import ConstraintMonitors
from planner.semantics.simulation import Simulation

MOST_TRIES: Final = 3
"""Most failures of a ground action in one run before it is not tried again."""


@dataclass(slots=True, eq=False)
class Options:
    """Determines what one run may do next; actions in `without_handler` cannot be carried out."""

    state: RunState
    without_handler: frozenset[str]

    def find_remaining(self, again: Collection[StepRecord] = ()) -> list[StepRecord]:
        """Return the pending steps, without those that depend on a failed one.

        The failed steps in `again` are included in their places, to be repeated.
        """
        orphans: set[str] = set()
        chosen = {record.id for record in again}
        records = self.state.steps.sort([*self.state.pending(), *again])
        for record in records:
            if any(id_ not in chosen and self._is_lost(id_, orphans) for id_ in record.plan.needs):
                orphans.add(record.id)
        return [record for record in records if record.id not in orphans]

    def find_repeatable(self) -> list[StepRecord]:
        """Return the failed and obstructed steps whose precondition does not hold now: they may come once it holds."""
        failed = [each for each in self.state.steps.list_troubled() if each.id not in self.state.mended]
        failed = [each for each in failed if each.status is not StepStatus.IN_DOUBT]
        if not failed:
            return []
        now, never = Simulation(self.make_problem()), {(each.action, each.arguments) for each in self.find_spent()}
        for record in self.find_fixed():
            now.apply(record.step)
        return [
            record
            for record in failed
            if record.step.action not in self.without_handler
            and (record.step.action, record.step.arguments) not in never
            and now.find_objection(record.step) is not None
        ]

    def find_possible(self) -> list[StepRecord]:
        """Return the remaining steps that are applicable in their order although others have failed."""
        simulation, found, lost = Simulation(self.make_problem()), list[StepRecord](), set[str]()
        for record in self.find_fixed():
            simulation.apply(record.step)
        for record in self.find_remaining():
            stated = self.state.reader.condition(record.plan.requires, CodePlace(f"step {record.id!r}"))
            works = simulation.find_objection(record.step) is None and simulation.holds(stated)
            if works and lost.isdisjoint(record.plan.needs):
                simulation.apply(record.step)
                found.append(record)
            else:
                lost.add(record.id)
        return found

    def find_doomed_by(self, record: StepRecord, *, dependent: bool = False) -> str:
        """Return why a later step cannot begin if `record`, which has not begun, is done now; an empty text if all can.

        If `dependent`, only steps that build on `record` count. A condition that is unknown or stale may turn out to
        hold when that step looks.
        """
        simulation, beliefs = Simulation(self.make_problem()), self.state.beliefs
        others = [each for each in self.state.pending() if each is not record]
        for each in [each for each in self.find_fixed() if each is not record]:
            simulation.apply(each.step)
        left = self.state.steps.sort([record, *others])
        counting = self._find_dependents(record, left) if dependent else {each.id for each in left}
        for each in left:
            found = simulation.find_objection(each.step)
            if found is None:
                simulation.apply(each.step)
            if found is None or each.id not in counting:
                continue
            facts = [] if found.misfit else beliefs.facts_of(found.condition, {})
            if found.misfit or any(beliefs.holds(fact) is None or beliefs.is_stale(fact) for fact in facts):
                return ""
            changes = simulation.changes(each.step)
            if changes.added or changes.removed or not self.state.is_irreversible(each):  # else it is so already
                return f"{each.step} could not follow: it requires {found.condition}"
        return ""

    def _find_dependents(self, record: StepRecord, left: Sequence[StepRecord]) -> set[str]:
        """Return the ids of `record` and of the steps among `left` that build on it, through others too."""
        before, found = predecessors_of(self.state.beliefs.problem, [each.plan for each in left]), {record.id}
        for each in left:
            if not found.isdisjoint(before.get(each.id, ())):
                found.add(each.id)
        return found

    def _is_lost(self, id_: str, orphans: set[str]) -> bool:
        record = self.state.steps.get(id_)
        if id_ in orphans or record is None or record.is_obstructed:
            return True
        return record.status.is_over and not record.status.is_done

    def find_fixed(self) -> list[StepRecord]:
        """Return the steps that no patch can change: at work, waiting, or in doubt."""
        return self.state.with_status(*BEGUN)

    def still_works(self, left: Iterable[StepRecord]) -> bool:
        """Return whether the steps at work, and then those of `left`, lead from the believed state to the goal."""
        problem, fixed, left = self.make_problem(), self.find_fixed(), list(left)
        simulation = Simulation(problem)
        watches = ConstraintMonitors(simulation)
        for record in (*fixed, *left):
            step = record.step
            if step.action in self.without_handler or simulation.find_objection(step) is not None:
                return False
            if record not in fixed and self._has_failed(step, simulation):
                return False
            simulation.apply(step)
            watches.look(simulation, step)
            watches.look(simulation)
        if watches.broken is not None or any(watches.unmet):
            return False
        return simulation.holds(self.state.goal) and can_be_paid(problem, [each.step for each in (*fixed, *left)])

    def find_furthest_start(self) -> int | None:
        """Return the number of remaining steps that can be skipped, so that the others still work; None if none work.

        This is the furthest point of the plan whose conditions hold (Fikes, Hart and Nilsson, 1972). A step is not
        skipped if it senses an unknown fact that a later step supposes, nor if it is irreversible and the plan takes it
        more than once.
        """
        found = self._find_furthest_by_state()
        left = self.find_remaining() if found else []
        if not found:
            return found
        kept = self._find_repeated(left)
        if any(record.plan.supposes for record in left):
            pairs = find_looks(self.state.domain, [record.step for record in left], [record.plan for record in left])
            kept += [at for at, _, fact in pairs if self.state.beliefs.holds(fact) is None]
        start = min([found, *kept])
        return start if start == found or self.still_works(left[start:]) else found

    def _find_repeated(self, left: Sequence[StepRecord]) -> list[int]:
        """Return the places in `left` of irreversible steps that the plan of the run takes more than once."""
        careful = [place for place, each in enumerate(left) if self.state.is_irreversible(each)]
        times = Counter(each.step for each in self.state.steps.values() if not each.because) if careful else {}
        return [place for place in careful if times[left[place].step] > 1]

    def _find_furthest_by_state(self) -> int | None:
        """Return the number of steps to skip if all suppositions are right."""
        left, now = self.find_remaining(), Simulation(self.make_problem())
        is_free = self.state.watches is None and not self.find_fixed()
        if is_free and not any((each.step.action, each.step.arguments) in self.state.tried for each in left):
            with suppress(Unclear):
                return find_furthest_reentry(now, [each.step for each in left], self.state.goal)
        for start in range(len(left), -1, -1):
            if start < len(left) and now.find_objection(left[start].step) is not None:
                continue
            if self.still_works(left[start:]):
                return start
        return None

    def make_problem(self) -> Problem:
        """Make the problem from the believed state to the goal, with actions that have handlers and remaining budgets.

        Suppositions of the remaining steps count as facts.
        """
        held = [fact for fact, holds in self._find_supposed().items() if holds]
        return self._complete_problem(fix_unknown_facts(self.state.beliefs.problem, held))

    def make_open_problem(self) -> Problem:
        """Return that problem with unknown facts that a plan may suppose; none if the plan allows no suppositions."""
        if self.state.plan.supposes is None:
            return self.make_problem()
        beliefs = self.state.beliefs
        unknown, likely = restrict_unknown_facts(self.state.problem, frozenset(beliefs.unknown))
        return self._complete_problem(replace(beliefs.problem, unknown=unknown, likely=likely))

    def _find_supposed(self) -> dict[Atom, bool]:
        """Return the suppositions of the remaining steps about unknown facts."""
        texts = [text for record in self.state.pending() for text in record.plan.supposes]
        return {note.fact: bool(note.holds) for note in self.state.beliefs.list_suppositions(parse_suppositions(texts))}

    def _complete_problem(self, problem: Problem) -> Problem:
        wanted, now = self.state.problem, self.state.constraints
        problem = with_limits_of(replace(problem, goal=Goal(self.state.goal), constraints=now), wanted)
        if problem.is_limited:
            problem = subtract_spent(problem, self.state, self.find_fixed())
        return seal(disable_actions(problem, self.without_handler))

    def find_barred(self) -> set[Step]:
        """Return the ground actions that must not be tried in the present state."""
        situation_for, tried = self.state.beliefs.situation_for, self.state.tried
        return self.find_spent() | {Step(*key) for key in tried if tried[key].was_in(situation_for(Step(*key)))}

    def find_spent(self) -> set[Step]:
        """Return the ground actions that must not be tried any more."""
        spent = {Step(*key) for key, each in self.state.tried.items() if _is_hopeless(each)}
        return spent | self.state.list_barred()

    def find_needless(self, steps: Sequence[Step], new: Collection[Step]) -> Step | None:
        """Return an irreversible one of the `new` steps of a plan that reaches the goal without it, if there is one.

        A search may take it only to get out of the state in which something else has failed.
        """
        actions = self.state.domain.actions
        for place, step in enumerate(steps):
            if step in new and "irreversible" in actions[step.action].tags:
                fixed = [record.step for record in self.find_fixed()]
                now, rest = Simulation(self.make_problem()), [*fixed, *steps[:place], *steps[place + 1 :]]
                works = all(now.find_objection(each) is None and now.apply(each) is not None for each in rest)
                if works and now.holds(self.state.goal):
                    return step
        return None

    def repeats(self, steps: Iterable[Step]) -> bool:
        """Return whether `steps` repeat an action in a state in which it has failed."""
        simulation = Simulation(self.make_problem())
        for record in self.find_fixed():
            simulation.apply(record.step)
        for step in steps:
            if self._has_failed(step, simulation):
                return True
            simulation.apply(step)
        return False

    def is_chancy(self, steps: Iterable[Step]) -> bool:
        """Return whether an action of `steps` has several outcomes, or a risk."""
        actions = self.state.problem.domain.actions
        return any(actions[each.action].outcomes or actions[each.action].risk for each in steps)

    def _has_failed(self, step: Step, simulation: Simulation) -> bool:
        """Return whether `step` has failed in the state of `simulation`, or must not be tried any more."""
        tried = self.state.tried.get((step.action, step.arguments))
        if tried is None or _is_hopeless(tried):
            return tried is not None
        return tried.was_in(self.state.beliefs.situation_in(simulation, step))


def _is_hopeless(tried: Tried) -> bool:
    return tried.spent or tried.times >= MOST_TRIES
