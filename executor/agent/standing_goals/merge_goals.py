"""Choose how several goals are pursued: by one plan for all, or by a plan for each, whichever costs less.

The costs of separate plans are those of carrying them out one after another. Goals that are proved to exclude each
other are named; of these, the less urgent one gives way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from executor.agent.agent_events import Compared, GoalInstance
from executor.agent.describe_problem import describe_goal
from executor.agent.plan_search import replace_problem, restrict_to_handlers
from executor.agent.proposals import Proposal, Standing
from executor.agent.propose import Proposer
from executor.background_searches import search_in_turn
from planner.explain.conflicts import find_conflicts
from planner.lightweight import dataclass, field, replace
from planner.limits import Limits
from planner.model import Formula, Goal, Problem
from planner.model.domain import creates_objects
from planner.model.formulas import conjunction, conjuncts
from planner.model.problem import seal_like
from planner.model.unknown_numbers import find_unread
from planner.plan import Plan, Status
from planner.semantics.simulation import Simulation

MOST_MERGED: Final = 8
"""Most goals that are planned for together: each costs another search."""
CONFLICT_SECONDS: Final = 3.0
"""Time limit of the search for the goals that exclude each other, in seconds."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """The ground `goal` of an instance."""

    instance: GoalInstance
    goal: Formula


@dataclass(slots=True)
class Choice:
    """The plans to carry out, in their order, each with the goals that it is for; `compared` says why these.

    Of each pair in `conflicts`, the second goal gives way. `failed` are goals without a plan.
    """

    plans: list[tuple[tuple[Wanted, ...], Proposal]] = field(default_factory=list)
    compared: Compared | None = None
    conflicts: list[tuple[Wanted, Wanted]] = field(default_factory=list)
    failed: list[tuple[Wanted, Proposal]] = field(default_factory=list)


Kept = Callable[[Simulation], Sequence[Wanted]]
"""Returns the goals in force that hold now, and no longer in the simulated state."""


def with_goal(problem: Problem, goals: Sequence[Formula]) -> Problem:
    """Return `problem` with the conjunction of `goals` as its goal."""
    parts = dict.fromkeys(part for each in goals for part in conjuncts(each))
    return seal_like(replace(problem, goal=Goal(conjunction(list(parts)))), problem)


def simulate_plan(plan: Plan) -> Simulation | None:
    """Return the state in which `plan` ends; None where nothing can say that before it is carried out."""
    problem = plan.problem
    if problem.unknown or find_unread(problem) or creates_objects(problem.domain):
        return None
    simulation = Simulation(problem)
    for step in plan.steps:
        simulation.apply(step)
    return simulation


@dataclass(slots=True, eq=False)
class GoalMerger:
    """Plans for goals that are due, from the most urgent one on."""

    proposer: Proposer

    async def choose(self, now: Problem, wanted: Sequence[Wanted], keep: Kept) -> Choice:
        """Choose the plans for `wanted`, and see that the first one leaves the goals of `keep` reached."""
        choice = await self._choose(now, list(wanted))
        while choice.plans:
            chosen, proposal = choice.plans[0]
            kept = self._find_broken(proposal, keep)
            if not kept:
                break
            found = await self._plan(now, [each.goal for each in (*kept, *chosen)])
            if found.plan is not None:
                choice.plans[0] = chosen, found
            elif found.result is not None and found.result.status is Status.UNSOLVABLE:
                choice.conflicts += [(kept[0], each) for each in chosen]
                del choice.plans[0]
                continue
            break
        return choice

    def _find_broken(self, proposal: Proposal, keep: Kept) -> Sequence[Wanted]:
        simulation = None if proposal.plan is None else simulate_plan(proposal.plan)
        return () if simulation is None else keep(simulation)

    async def _choose(self, now: Problem, wanted: list[Wanted]) -> Choice:
        choice, state, is_broken = Choice(), now, False
        final: Simulation | None = None
        for each in wanted:
            proposal = await self.proposer.propose_goal(with_goal(state, [each.goal]))
            if proposal.plan is None and state is not now:
                proposal = await self.proposer.propose_goal(with_goal(now, [each.goal]))
                is_broken = True
            if proposal.plan is None:
                choice.failed.append((each, proposal))
                continue
            choice.plans.append(((each,), proposal))
            final = None if is_broken else simulate_plan(proposal.plan)
            if final is not None:
                then = final.problem_now
                state = replace(now, initial=then.initial, values=then.values, ran=then.ran)
        if len(choice.plans) < 2:
            return choice
        merged = [each for chosen, _ in choice.plans for each in chosen]
        is_broken = is_broken or (final is not None and not all(final.holds(each.goal) for each in merged))
        together = await self._plan(now, [each.goal for each in merged])
        if together.plan is None:
            return await self._settle_conflict(now, merged, choice, together) if is_broken else choice
        apart = sum(proposal.plan.cost for _, proposal in choice.plans if proposal.plan is not None)
        cheaper = together.plan.cost < apart
        reason = "one after another undoes what was reached" if is_broken else ""
        reason = reason or ("one plan costs less" if cheaper else "one plan costs no less")
        choice.compared = Compared(
            tuple([each.instance for each in merged]),
            str(together.plan.cost),
            str(apart),
            cheaper or is_broken,
            reason,
        )
        if choice.compared.is_merged:
            choice.plans = [(tuple(merged), together)]
        return choice

    async def _settle_conflict(self, now: Problem, wanted: list[Wanted], choice: Choice, together: Proposal) -> Choice:
        """Let the least urgent one of the goals that exclude each other give way, and choose for the others."""
        if together.result is None or together.result.status is not Status.UNSOLVABLE or together.problem is None:
            return choice
        problem = restrict_to_handlers(together.problem, self.proposer.world)
        conflicts = await search_in_turn(lambda: find_conflicts(problem, Limits(CONFLICT_SECONDS)))
        for conflict in conflicts:
            parts = {each.what for each in conflict.demands}
            among = [each for each in wanted if not parts.isdisjoint(conjuncts(each.goal))]
            if len(among) > 1:
                rest = await self._choose(now, [each for each in wanted if each is not among[-1]])
                rest.conflicts.append((among[0], among[-1]))
                rest.failed += choice.failed
                return rest
        return choice

    async def _plan(self, now: Problem, goals: Sequence[Formula]) -> Proposal:
        """Plan for all `goals` together; without a plan, nobody is told what is missing."""
        problem = with_goal(now, goals)
        found = await self.proposer.planner.plan(restrict_to_handlers(problem, self.proposer.world))
        result = replace_problem(found.result, problem)
        standing = Standing.PLANNED if result.has_plan else Standing.UNPLANNED
        return Proposal(standing, "", problem, describe_goal(problem), result, values=found.values)
