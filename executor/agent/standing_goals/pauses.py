"""Let goals wait that do not stay reached, or that are pursued in vain, and end their pauses."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from executor.agent import agent_events as told
from executor.agent.agent_events import GoalInstance
from executor.agent.standing_goals import loop_guard
from executor.agent.standing_goals.goal_board import GoalBoard
from executor.agent.standing_goals.goal_log import GoalLog
from executor.agent.standing_goals.goal_watch import GoalWatch
from executor.agent.standing_goals.standing_goal import StandingGoal
from planner.lightweight import dataclass
from planner.model import Atom


@dataclass(slots=True, eq=False)
class Pauses:
    """Pauses goals by what became of their pursuits, see `loop_guard`."""

    board: GoalBoard
    goal_log: GoalLog
    watch: GoalWatch

    def guard(self, goal: StandingGoal, instance: GoalInstance, rests: Iterable[Atom] | None = ()) -> None:
        """Let a goal wait after attempts in vain: longer each time, and for good after the last one."""
        found = self.goal_log.attempts.get(instance)
        if found is None or found.paused:
            return
        if max(found.failed, len(found.undone)) >= goal.tries:
            is_vain = found.failed >= goal.tries
            reason = loop_guard.describe_vain(instance, found) if is_vain else loop_guard.describe_loop(instance, found)
            self.pause(goal, instance, reason, rests)
        elif found.failed or len(found.undone) > 1:
            reason = found.reasons[-1] if found.failed else loop_guard.describe_loop(instance, found)
            pause = loop_guard.next_pause(found.failed or len(found.undone) - 1)
            self.goal_log.emit(told.Paused(instance, reason, self.goal_log.clock() + pause))

    def pause(
        self,
        goal: StandingGoal,
        instance: GoalInstance,
        reason: str,
        rests: Iterable[Atom] | None,
        against: GoalInstance | None = None,
    ) -> None:
        """Pause a goal until a person, or a change of the facts on which it rests, resumes it."""
        names = None
        if rests is not None:
            pattern = goal.pattern
            own = [
                fact
                for part in (pattern.condition_for(instance.objects), pattern.goal_for(instance.objects))
                for fact in self.watch.picture.facts_of(part)
            ]
            names = tuple(sorted({str(fact) for fact in (*rests, *own)}))
        state = _digest(names, {str(fact) for fact in self.watch.picture.facts})
        self.goal_log.emit(told.Paused(instance, reason, None, against, names, state))

    def end_where_changed(self) -> None:
        """End the pauses of goals whose facts are as they never were when the goal was paused."""
        paused = [(each, found) for each, found in self.goal_log.attempts.items() if found.paused]
        facts = {str(fact) for fact in self.watch.picture.facts} if paused else set()
        for each, found in paused:
            if found.against is not None:
                goal = self.board.goal_of(found.against)
                if goal is None or not self.watch.is_in_force(goal, found.against.objects):
                    self.goal_log.emit(told.PauseEnded(each, f"{found.against} is in force no more"))
            elif _digest(found.rests, facts) not in found.seen:
                self.goal_log.emit(told.PauseEnded(each, "what it rests on has changed"))


def _digest(names: tuple[str, ...] | None, facts: Collection[str]) -> int:
    """Return a checksum of those of the facts `names` that hold; None: of all."""
    return loop_guard.compute_digest(facts if names is None else [each for each in names if each in facts])
