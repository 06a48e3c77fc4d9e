"""Follow a policy: choose the next step by the believed state."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final, TypeGuard

from executor.background_searches import SearchStopped, read_timer, search_in_turn
from executor.events.events import UNFINISHED, Event, GoalDropped, PlanChanged, Rung, RungTaken
from executor.events.failures import Key
from executor.events.remaining_budget import sum_spent
from executor.events.run_state import RunState
from executor.events.steps import StepRecord
from executor.learning.experience import Pricing
from executor.plan_check.remaining_means import RemainingMeans
from executor.plans.action_plan import steps_of
from executor.plans.suppositions import literal_text
from executor.recovery.options import Options
from executor.recovery.recovery_policy import MORE, Recovery
from planner.errors import ForethoughtError
from planner.lightweight import replace
from planner.model import Action, Atom, Goal, Problem
from planner.plan import Step, StoppedBy
from planner.repair.forbidden_steps import forbid_actions
from planner.semantics.spending import without_debts

if TYPE_CHECKING:
    from planner.policies.policy import Node, Policy

PLAUSIBLE: Final = 0.001
"""A step counts as broken when its failures in a row are less likely than this by its declared risk."""
UNFORESEEN: Final = "nobody foresaw this state"


@dataclass(frozen=True, slots=True)
class Decided:
    """What a search for a policy has found: the data of a policy, if there is one, its expected cost, and words.

    `has_run_out`: the time of the search was over before it had a policy.
    """

    policy: Mapping[str, Any] | None
    cost: float
    reason: str
    described: str
    has_run_out: bool = False


@dataclass(slots=True, eq=False)
class PolicyExecution:
    """Takes the steps of a run's policy, each in the state that the one before has led to."""

    state: RunState
    emit: Callable[[Event], None]
    options: Options
    recovery: Recovery
    means: RemainingMeans
    pricing: Pricing | None = None
    reasons: list[str] = field(default_factory=list)
    """Reasons why the latest searches for other policies have found none."""
    gives_up: bool = False
    """Whether the best policy from here is to do nothing, as all else costs more than giving up."""
    _read: tuple[Any, Policy | None] = None, None
    """Cached policy, with its data."""

    @property
    def is_due(self) -> bool:
        """Whether the policy must choose the next step: no step of the plan is left, and the run is not undoing."""
        state = self.state
        if state.model != "policy" or state.is_undoing or not self.is_for_this:
            return False
        return not state.with_status(*UNFINISHED)

    @property
    def is_for_this(self) -> bool:
        """Whether there is a policy for the present goal."""
        return self.state.policy is not None and self.state.policy is not self.state.outlived

    def policy(self) -> Policy:
        """Load the policy that the run follows; it begins irreversible steps late."""
        data, policy = self._read
        if policy is None or data is not self.state.policy:
            policy = self._read_policy(self.state.policy)
            self._read = self.state.policy, policy
        return policy

    def _read_policy(self, data: Any) -> Policy:
        """Return the policy of which `data` are the data, with irreversible steps as late as their order allows."""
        from executor.recovery.reversible_first import take_reversible_first
        from planner.policies.policy import Policy

        return take_reversible_first(Policy.from_dict(data, self.state.problem))

    def node(self) -> Node | None:
        """Return the node of the policy for the believed state; None if it does not cover that, or no more."""
        beliefs, simulation = self.state.beliefs, self.state.beliefs.simulation
        unknown = beliefs.unknown if self.state.problem.unknown else ()
        kept = () if self.state.kept is None else self.state.kept.facts
        ran, spent = simulation.history, sum_spent(self.state)
        found = self.policy().node(
            simulation.facts, ran=ran, spent=spent, unknown=unknown, kept=kept, values=simulation.values
        )
        return None if found is not None and found.step is not None and self._is_belied(found.step) else found

    def _is_belied(self, step: Step) -> bool:
        """Return whether a condition of the conditional effects of `step` is otherwise than the policy supposes.

        The states of a policy tell nothing of what no action changes.
        """
        holds, watched, foreseen = self.state.beliefs.holds, self.policy().watched, self.state.foreseen
        facts = [each for each in self.state.beliefs.facts_of_effects(step) if each not in watched]
        return any((holds(each) is True) is not (each in foreseen) for each in facts if type(each) is Atom)

    def foresee(self) -> list[StepRecord]:
        """Return the steps that the policy may take from here, as if none had begun; none if the run follows none."""
        if self.state.model != "policy" or self.state.is_undoing or not self.is_for_this:
            return []
        nodes, here = self.policy().nodes, self.node()
        reached = {place: None for place, node in enumerate(nodes) if here is None or node is here}
        stack = [*reached]
        while stack:
            fresh = [each.node for each in nodes[stack.pop()].branches if each.node not in reached]
            reached |= dict.fromkeys(fresh)
            stack += fresh
        steps = dict.fromkeys([step for place in reached if (step := nodes[place].step) is not None])
        planned = steps_of(steps, self.state.domain, self.state.steps)
        return [StepRecord(plan, step) for plan, step in zip(planned, steps, strict=True)]

    def is_lost(self) -> bool:
        """Return whether the policy does not cover the believed state, and the goal does not hold."""
        return self.node() is None and not self.state.beliefs.is_true(self.state.problem.goal.hard)

    def go_on(self, about: str = "") -> bool:
        """Make the policy's next step the plan, if it may be tried; return whether there is one.

        `about` is the step that has failed, if any; the policy may say to try it again.
        """
        node = self.node()
        if node is None or node.step is None:
            if node is not None and node.is_goal:
                self._drop_wishes()
            return False
        tried = self.state.tried.get((node.step.action, node.step.arguments))
        failed = tried is not None and (tried.spent or tried.was_in(self.state.beliefs.situation_for(node.step)))
        if (failed and not self._is_bad_luck(node, node.step)) or self._is_circle(node.step):
            return False
        if about:
            reason = f"the policy goes on with {node.step}"
            self.emit(RungTaken(Rung.RETRY if failed else Rung.PATCH, about, reason, float(node.step.cost)))
        self._take(node)
        return True

    def _is_bad_luck(self, node: Node, step: Step) -> bool:
        """Return whether the failures of `step` are plausible by its risk, and it may be tried again."""
        tried, nodes = self.state.tried[step.action, step.arguments], self.policy().nodes
        stays = sum(branch.probability for branch in node.branches if nodes[branch.node] is node)
        return not tried.spent and stays**tried.times >= PLAUSIBLE

    def _is_circle(self, step: Step) -> bool:
        """Return whether `step` was taken from this state `most_patches` times."""
        return self.state.count_times_taken([step]) >= self.recovery.most_patches

    def _take(self, node: Node, policy: Mapping[str, Any] | None = None, reason: str = "as the policy says") -> None:
        assert node.step is not None
        supposes = () if node.supposed is None else (literal_text(*node.supposed),)
        steps = steps_of([node.step], self.state.domain, self.state.steps, supposing=[supposes])
        data = tuple([each.model_dump(mode="json") for each in steps])
        self.emit(PlanChanged(data, 0, 1, 0, reason, policy=policy, follows=True))

    def _drop_wishes(self) -> None:
        """Drop the soft goals that do not hold where the policy ends."""
        for wish in self.state.soft:
            if not self.state.beliefs.is_true(wish.condition):
                self.emit(GoalDropped(str(wish.condition), float(wish.utility)))

    async def decide_again(self, about: str) -> bool:
        """Search for another policy from the believed state, and take its first step; return whether there is one.

        Actions that failed here are forbidden; without such a policy, those that may be retried only as the first step.
        """
        self.gives_up = False
        here, never = self._find_hopeless(self.options.find_barred()), self._find_hopeless(self.options.find_spent())
        if await self._decide(about, here, here):
            return True
        return here != never and not self.gives_up and await self._decide(about, never, here)

    async def _decide(self, about: str, forbidden: set[Key], not_now: set[Key]) -> bool:
        problem, started = self._make_problem(forbidden), read_timer()
        try:
            decided = await self._search_twice(about, problem)
        except ForethoughtError as error:
            why = str(error)
        else:
            policy = None if decided.policy is None else self._read_policy(decided.policy)
            step = None if policy is None else policy.nodes[0].step
            doom = "" if decided.policy is None else self.means.find_doom_of_policy(decided.policy)
            if policy is not None and not doom and self._may_be_next(step, not_now):
                seconds = read_timer() - started
                self.emit(RungTaken(Rung.REPLAN, about, f"another policy: {decided.described}", decided.cost, seconds))
                data = {**(self.state.policy or {}), **(decided.policy or {})}
                self._take(policy.nodes[0], data, f"another policy after {about}" if about else "another policy")
                return True
            self.gives_up = policy is not None and step is None and not policy.nodes[0].is_goal
            why = doom or decided.reason or decided.described
        self._tell_in_vain(about, why, started)
        return False

    async def _search_twice(self, about: str, problem: Problem) -> Decided:
        """Search for a policy for `problem`, and once more with more time if it runs out; tell both."""
        seconds, started = self.recovery.time_limit, read_timer()
        decided = await self._search(problem, seconds)
        if decided.has_run_out:
            self._tell_in_vain(about, decided.reason, started)
            decided = await self._search(problem, MORE * seconds)
        return decided

    async def _search(self, problem: Problem, seconds: float) -> Decided:
        """Search for a policy for `problem` in a thread, for so many `seconds`."""
        try:
            decided = await search_in_turn(lambda: self._search_policy(problem, seconds))
        except SearchStopped as stop:
            decided = Decided(None, 0, str(stop), "", has_run_out=stop.stopped_by is StoppedBy.TIME)
        if not decided.has_run_out:
            return decided
        return replace(decided, reason=f"{decided.reason or decided.described} ({seconds:g} s of processor time)")

    def _tell_in_vain(self, about: str, why: str, started: float) -> None:
        """Note and tell why a search that `started` then has found no policy."""
        self.reasons.append(f"policy: {why}")
        self.emit(RungTaken(Rung.REPLAN, about, why, seconds=read_timer() - started, found=False))

    def _may_be_next(self, step: Step | None, not_now: Collection[Key]) -> TypeGuard[Step]:
        return step is not None and (step.action, step.arguments) not in not_now and not self._is_circle(step)

    def _make_problem(self, forbidden: Iterable[Key]) -> Problem:
        """Make the decision problem from the believed state, with remaining budgets and without `forbidden` actions."""
        problem = self.options.make_open_problem()
        goal = Goal(self.state.problem.goal.hard, tuple(self.state.soft))
        problem = without_debts(replace(problem, goal=goal))
        return forbid_actions(problem, [Atom(*key) for key in forbidden], ())

    def _find_hopeless(self, failed: Iterable[Step]) -> set[Key]:
        """Return those of the steps `failed` whose failures are not plausible by their risk."""
        actions, tried = self.state.problem.domain.actions, self.state.tried
        keys = [(each.action, each.arguments) for each in failed]
        return {
            key
            for key in keys
            if key not in tried or tried[key].spent or not _is_luck(actions[key[0]], key[1], tried[key].times)
        }

    def _search_policy(self, problem: Problem, seconds: float) -> Decided:
        from planner.policies.decide import decide
        from planner.policies.decision import Objective

        known = problem if self.pricing is None else self.pricing.apply_experience(problem)
        given = self.state.policy or {}
        found = decide(
            known,
            objective=Objective[str(given.get("objective", "SUCCESS")).upper()],
            penalty=None if given.get("penalty") is None else Decimal(str(given["penalty"])),
            time_limit=seconds,
        )
        policy = None if found.policy is None else found.policy.to_dict()
        has_run_out = policy is None and found.stopped_by is StoppedBy.TIME
        return Decided(policy, float(found.expected_cost or 0), found.reason, found.describe(), has_run_out)


def _is_luck(action: Action, arguments: tuple[str, ...], times: int) -> bool:
    """Return whether so many failures of `action` are plausible by its risk."""
    return float(action.odds(arguments)[0]) ** times >= PLAUSIBLE
