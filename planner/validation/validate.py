"""Check plans by interpreting the *declared* problem step by step (Howey, Long and Fox, 2004).

The checker shares no code with normalisation, grounding or search, so that a mistake there cannot hide here. It uses
`planner.semantics`: states are indexed tables, joins evaluate conditions, stratified fixed points derive facts, and
monitors observe constraints. One exception: for object creation the validator uses search's compilation to placeholders
(`planner.compilations.object_creation`). A plan may take them in any order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from planner.compilations.object_creation import for_steps
from planner.errors import InputError, PlanError, kind_of
from planner.lightweight import Any, replace
from planner.model import Atom, Constraint, Formula, Number, Problem, SoftGoal
from planner.model.domain import creates_objects
from planner.model.formulas import conjuncts, substitute
from planner.model.problem import NumericMetric, find_constraint_on_unknown, is_numeric, is_temporal
from planner.model.unknown_facts import fix_unknown_facts
from planner.model.unknown_numbers import find_unread
from planner.plan import Plan, Step, Supposition, exact_sum, name_as_written
from planner.problem_kinds import is_other_problem, resolve_problem, service_of
from planner.semantics.constraint_monitors import ConstraintMonitors
from planner.semantics.simulation import ChangeHistory, Objection, Simulation
from planner.semantics.spending import add_up, describe_exceeded
from planner.semantics.step_effects import Changes
from planner.validation.verdict import Verdict


class Replay:
    """Applies a plan step by step, and judges each step and the end of the plan.

    `simulation` has the state after the steps so far. A replay also records costs, changes, constraints and what
    budgets count.
    """

    def __init__(self, problem: Problem, start: Simulation | None = None) -> None:
        self.simulation = Simulation(problem) if start is None else start.copy()
        self._monitors = ConstraintMonitors(self.simulation)
        self.chronicle = ChangeHistory(problem.domain.derived, self.simulation.world.state.values)
        self._costs: list[Number] = []
        self._spent: list[dict[str, Number]] = []
        self._latest: Step | None = None

    @property
    def cost(self) -> Number:
        """The exact cost of the steps so far."""
        return exact_sum(self._costs)

    def find_objection(self, step: Step) -> Verdict | None:
        """Return a negative verdict if `step` is inapplicable, else None."""
        found = self.simulation.find_objection(step)
        if found is None:
            try:
                self.simulation.cost(step)
                self.simulation.spending(step)
            except InputError as error:
                found = Objection(str(error))
        return None if found is None else self._make_rejection(step, found)

    def apply(self, step: Step) -> Changes:
        """Apply the applicable `step` and return its changes."""
        self._costs.append(self.simulation.cost(step))
        self._spent.append(self.simulation.spending(step))
        self._monitors.look(self.simulation, step)
        changes = self.simulation.apply(step)
        self._monitors.look(self.simulation)
        (self._latest,) = name_as_written([step], self.simulation.problem)
        self.chronicle.record(len(self._costs), self._latest, changes)
        return changes

    @property
    def violation(self) -> Verdict | None:
        """The negative verdict if the steps violate a hard constraint, else None."""
        constraint = self._monitors.broken
        if constraint is None:
            return None
        number = len(self._costs) or None
        start = "the initial state" if number is None else f"step {number} {self._latest}"
        reason = f"{start} breaks the constraint '{constraint}'"
        return Verdict(valid=False, cost=self.cost, reason=reason, failing_step=number, constraint=constraint)

    def _make_rejection(self, step: Step, objection: Objection) -> Verdict:
        number = len(self._costs) + 1
        (written,) = name_as_written([step], self.simulation.problem)
        start = f"step {number} {written}: "
        if objection.misfit:
            return Verdict(valid=False, cost=self.cost, reason=start + objection.misfit, failing_step=number)
        condition = objection.condition
        reason = f"{start}requires {condition}, {self.chronicle.account(condition)}"
        return Verdict(valid=False, cost=self.cost, reason=reason, failing_step=number, condition=condition)

    def judge_end(self, claimed: Number | None) -> Verdict:
        """Return the verdict on a plan that ends here and claims the cost `claimed`."""
        cost = self.cost
        if self.violation is not None:
            return self.violation
        unmet = tuple(self._find_unmet_goals())
        if unmet:
            parts = "; ".join(f"{condition}, {self.chronicle.account(condition)}" for condition in unmet)
            return Verdict(valid=False, cost=cost, reason=f"at the end, the goal requires {parts}", unmet=unmet)
        missing = next(self._monitors.unmet, None)
        if missing is not None:
            reason = f"at the end, the constraint '{missing}' is not met"
            return Verdict(valid=False, cost=cost, reason=reason, constraint=missing)
        if claimed is not None and claimed != cost:
            return Verdict(valid=False, cost=cost, reason=f"the plan claims cost {claimed}, but its steps cost {cost}")
        exceeded = "; ".join(self._describe_exceeded_budgets())
        if exceeded:
            return Verdict(valid=False, cost=cost, reason=exceeded)
        return Verdict(valid=True, cost=cost, forgone=tuple(self._find_forgone()))

    def _find_forgone(self) -> Iterator[SoftGoal | Constraint]:
        for wish in self.simulation.problem.goal.soft:
            if not self.simulation.holds(wish.condition):
                yield wish
        yield from self._monitors.forgone

    def _describe_exceeded_budgets(self) -> Iterator[str]:
        problem = self.simulation.problem
        yield from describe_exceeded(problem, add_up(problem, self._spent))

    def _find_unmet_goals(self) -> Iterator[Formula]:
        for part in conjuncts(self.simulation.problem.goal.hard):
            if not self.simulation.holds(part):
                yield self.simulation.inspector.smallest_failure(part, {})


def describe_lateness(problem: Problem, steps: Sequence[Step]) -> str:
    """Describe how otherwise valid `steps` exceed the deadline; return "" if they meet it.

    The function does not trust the schedule: it replays the steps in the order of their starts and of their ends.
    """
    from planner.scheduling.schedule import schedule

    if problem.deadline is None:
        return ""
    timed = schedule(Plan(tuple(steps), problem))
    for times in (timed.starts, timed.ends):
        _replay_in_order(problem, steps, times)
    if timed.makespan <= problem.deadline:
        return ""
    return f"the plan takes {timed.makespan} seconds, and the deadline is {problem.deadline}"


def _replay_in_order(problem: Problem, steps: Sequence[Step], times: Sequence[Number]) -> None:
    """Raise `RuntimeError` if the steps are not a valid plan in the order of these times."""
    replay = Replay(problem)
    for place in sorted(range(len(steps)), key=times.__getitem__):
        verdict = replay.find_objection(steps[place])
        if verdict is not None:
            raise RuntimeError(f"internal error: the schedule of a valid plan is not executable: {verdict.reason}")
        replay.apply(steps[place])
    if not (verdict := replay.judge_end(None)).valid:
        raise RuntimeError(f"internal error: the schedule of a valid plan is not executable: {verdict.reason}")


def validate(problem: Problem, steps: Plan | Sequence[Step], *, claimed_cost: Number | None = None) -> Verdict:
    """Look up the names of `problem`, and check that `steps` lead from its initial state to its goal.

    A `Plan` claims its own cost, other steps only `claimed_cost`; a wrong claim makes the plan invalid. With unknown
    facts, the validator finds and lists suppositions that make the plan valid. It tries a `Plan`'s own first. Of an
    unknown number, a plan supposes the value that the problem has.

    A problem of another kind is checked by the module that is registered for it.

    Never raises for a bad plan. Raises `InputError` for a malformed problem, and `UnsupportedError` where facts are
    stale with unknown ones, beside numbers, in time, or beside constraints on them.
    """
    if is_other_problem(problem):
        return service_of(problem).validate(problem, steps if isinstance(steps, Plan) else Plan(tuple(steps), problem))
    _check_arguments(problem, steps)
    return check_steps(resolve_problem(problem), steps, claimed_cost=claimed_cost)


def check_steps(problem: Problem, steps: Plan | Sequence[Step], *, claimed_cost: Number | None = None) -> Verdict:
    """Validate `steps` as `validate` does, for a resolved problem."""
    verdict = _check_steps(problem, steps, claimed_cost)
    if not (verdict.valid and find_unread(problem)):
        return verdict
    from planner.validation.supposed_numbers import find_supposed_numbers

    supposed = find_supposed_numbers(problem, steps.steps if isinstance(steps, Plan) else steps)
    return replace(verdict, suppositions=(*verdict.suppositions, *supposed))


def _check_steps(problem: Problem, steps: Plan | Sequence[Step], claimed_cost: Number | None) -> Verdict:
    plan = steps if isinstance(steps, Plan) else Plan(tuple(steps), problem)
    if isinstance(steps, Plan) and claimed_cost is None:
        claimed_cost = plan.cost
    expanded = problem if is_temporal(problem) else _add_placeholders(problem, plan.steps)
    verdict = _validate_expanded(expanded, plan, claimed_cost)
    if expanded is problem or not verdict.forgone:
        return verdict
    pairs = zip(problem.wishes, expanded.wishes, strict=True)
    return replace(verdict, forgone=tuple([wish for wish, guarded in pairs if guarded in verdict.forgone]))


def _validate_expanded(problem: Problem, plan: Plan, claimed_cost: Number | None) -> Verdict:
    """Validate `plan` of `problem`, which has placeholders for what the plan creates."""
    if not problem.unknown:
        return _replay_any(problem, plan, claimed_cost)
    if is_temporal(problem) or is_numeric(problem) or find_constraint_on_unknown(problem) is not None:
        verdict = _validate_by_translation(problem, plan, claimed_cost)
    else:
        from planner.validation.suppositions import validate_with_suppositions

        expected = {each.fact: each.holds for each in plan.suppositions}
        verdict = validate_with_suppositions(
            problem, plan.steps, expected, lambda known: _replay_plan(known, plan.steps, claimed_cost)
        )
    late = _describe_late_looks(problem, plan, verdict) if verdict.valid and not is_temporal(problem) else ""
    return replace(verdict, valid=False, reason=late) if late else verdict


def validate_in_turn(problem: Problem, plan: Plan) -> tuple[Plan, Verdict]:
    """Return `plan` with the verdict on it; in time, its steps are taken one after another where it has no times."""
    if is_temporal(problem) and not plan.times:
        from planner.validation.timed_replay import in_turn

        plan = in_turn(problem, plan.steps)
    return plan, validate(problem, plan if plan.times else plan.steps)


def _replay_any(problem: Problem, plan: Plan, claimed_cost: Number | None) -> Verdict:
    """Replay `plan` of `problem`, without unknown facts: in time by its times, or with its steps in turn."""
    if not plan.times and not is_temporal(problem):
        return _replay_plan(problem, plan.steps, claimed_cost)
    from planner.validation.timed_replay import TimedReplay, in_turn

    timed = plan if plan.times else in_turn(problem, plan.steps)
    return TimedReplay(problem, timed.steps, timed.times).judge(claimed_cost)


def _validate_by_translation(problem: Problem, plan: Plan, claimed_cost: Number | None) -> Verdict:
    """Validate `plan` where facts are unknown beside numbers, times, or constraints on them."""
    from planner.validation.translated_suppositions import validate_by_translation

    if is_temporal(problem) and not plan.times:
        from planner.validation.timed_replay import in_turn

        held = [each.fact for each in plan.suppositions if each.holds]
        plan = replace(plan, times=in_turn(fix_unknown_facts(problem, held), plan.steps).times)
    return validate_by_translation(
        problem,
        plan,
        lambda known, _: _replay_any(known, plan, claimed_cost),
        lambda case: _replay_any(case, plan, None),
    )


def _describe_late_looks(problem: Problem, plan: Plan, verdict: Verdict) -> str:
    """Describe how steps exceed the deadline that wait for what they suppose to be looked at; "" if they meet it."""
    if problem.deadline is None or not verdict.suppositions:
        return ""
    from planner.scheduling.schedule import makespan

    free = Plan(plan.steps, replace(problem, deadline=None), suppositions=verdict.suppositions)
    takes = makespan(free)
    if takes <= problem.deadline:
        return ""
    return f"the plan takes {takes} seconds, and the deadline is {problem.deadline}"


def apply_suppositions(problem: Problem, plan: Plan) -> tuple[Problem, tuple[Supposition, ...]]:
    """Fix the unknown facts of `problem` as `plan` supposes; return the problem and the suppositions.

    If the plan states no suppositions, validation finds them. Raises `PlanError` for an invalid plan.
    """
    if not problem.unknown:
        return problem, ()
    suppositions = plan.suppositions
    if not suppositions:
        verdict = check_steps(problem, plan.steps)
        if not verdict.valid:
            raise PlanError(f"this plan is not valid: {verdict.reason}")
        suppositions = verdict.suppositions
    return fix_unknown_facts(problem, [each.fact for each in suppositions if each.holds]), suppositions


def make_checker(problem: Problem) -> Callable[[Plan], Verdict]:
    """Return a function that validates plans of `problem`, which has no unknown facts and creates no objects."""
    start = Simulation(problem)
    return lambda plan: _replay_plan(problem, plan.steps, plan.cost, start)


def _replay_plan(
    problem: Problem, steps: Sequence[Step], claimed_cost: Number | None, start: Simulation | None = None
) -> Verdict:
    replay = Replay(problem, start)
    if replay.violation is not None:
        return replay.violation
    for step in steps:
        verdict = replay.find_objection(step)
        if verdict is None:
            replay.apply(step)
            verdict = replay.violation
        if verdict is not None:
            return verdict
    verdict = replay.judge_end(claimed_cost)
    late = describe_lateness(problem, steps) if verdict.valid else ""
    return replace(verdict, valid=False, reason=late) if late else verdict


def _check_arguments(problem: Any, steps: Any) -> None:
    if not isinstance(problem, Problem):
        raise InputError(f"expected a problem, got {kind_of(problem)}", hint="load(…) and domain.problem(…) give one")
    if isinstance(steps, Plan):
        return
    if not isinstance(steps, Sequence) or not all(isinstance(step, Step) for step in steps):
        raise InputError("the steps are neither a plan nor a list of steps", hint="a step is Step('move', ('r1', 'a'))")


def _add_placeholders(problem: Problem, steps: Sequence[Step]) -> Problem:
    """Add placeholders for the objects that `steps` create, if actions of `problem` create any."""
    return for_steps(problem, steps) if creates_objects(problem.domain) else problem


def simulate(problem: Problem, steps: Plan | Sequence[Step]) -> Iterator[frozenset[Atom]]:
    """Yield the initial state, then the state after each step, without derived facts.

    Raises `PlanError` at the first inapplicable step.
    """
    _check_arguments(problem, steps)
    steps = steps.steps if isinstance(steps, Plan) else steps
    replay = Replay(_add_placeholders(problem, steps))
    yield replay.simulation.facts
    for step in steps:
        verdict = replay.find_objection(step)
        if verdict is not None:
            raise PlanError(verdict.reason)
        replay.apply(step)
        yield replay.simulation.facts


def choose_versions(steps: Sequence[Step], problem: Problem) -> tuple[Step, ...]:
    """Replace each step's action by an applicable version, and set its cost; under a numeric metric, set all costs.

    The model splits a PDDL action with precondition preferences or conditional outcomes into versions, which plans call
    by the action's name. If no version applies, choose the one with the fewest unmet preconditions. Do not apply it.
    """
    if not (problem.domain.versions or isinstance(problem.metric, NumericMetric)):
        return tuple(steps)
    others: dict[str, list[str]] = {}
    for version, name in problem.domain.versions.items():
        others.setdefault(name, []).append(version)
    replay = Replay(problem)
    found: list[Step] = []
    for step in steps:
        versions = [replace(step, action=name) for name in (step.action, *others.get(step.action, ()))]
        objections = [replay.find_objection(each) for each in versions]
        if None in objections:
            chosen = versions[objections.index(None)]
            found.append(replace(chosen, cost=replay.simulation.cost(chosen)))
            replay.apply(chosen)
        elif all(each is not None and each.condition is not None for each in objections):
            found.append(min(versions, key=lambda each: _count_unmet(each, replay)))
        else:
            found.append(step)
    return tuple(found)


def _count_unmet(step: Step, replay: Replay) -> int:
    """Count the unmet preconditions of the well-formed `step`."""
    action = replay.simulation.problem.domain.actions[step.action]
    binding = dict(zip([each.name for each in action.parameters], step.arguments, strict=True))
    return sum(not replay.simulation.holds(substitute(part, binding)) for part in conjuncts(action.requires))
