"""Plans that keep steps of a given one, found by `solve` in problems of any kind whose actions mark the kept steps.

    leave out none ─→ leave out 1 ─→ 2 ─→ 4 ─→ … ─→ all    until there is a plan; the others are excluded, or given up
    leave out one less than that plan ─→ …                 until there is no such plan
    the cheapest plan that leaves out no more

After a search that runs out of its time before there is a plan, all may be left out.

The marks are those of `planner.compilations.kept_steps`. Where steps may run at once, they miss plans in which steps
start at one moment, and exclude nothing. There, marks of all steps in any order, which restrict nothing, may prove the
best plan.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from planner.compilations.kept_steps import keep_steps, require_steps
from planner.compilations.object_creation import declared_arguments
from planner.compilations.unlisted_objects import qualify_by_findings
from planner.lightweight import Any, Final, dataclass, replace
from planner.limits import Finishing, Limits
from planner.model.actions import Action
from planner.model.constructs import Construct, has
from planner.model.domain import DomainModel
from planner.model.formulas import OPEN, Atom, Object
from planner.model.problem import Problem, is_temporal
from planner.options import SolveOptions
from planner.plan import Plan, Result, Status, Step, StoppedBy
from planner.problem_kinds import AnyProblem, classical_of, with_sealed_classical
from planner.repair.forbidden_steps import forbid_actions
from planner.semantics.simulation import Simulation
from planner.validation.validate import validate

TRY_SHARE: Final = 0.3
"""Share of the remaining time for the question whether so many steps can be kept."""
TRY_SECONDS: Final = 30.0
"""The same in seconds where there is no time limit: a search may not end where there is no plan."""
MOST_MARKS: Final = 20_000
"""Most conditional effects that mark kept steps; each step left out multiplies them."""
MARKS_PER_SECOND: Final = 10_000
"""How many of them are compiled and grounded in a second: with tasks and a deadline, 16,000 take 1 s."""
AT_ONCE: Final = "plans whose given steps start at one moment were not searched"
"""Why nothing is proved where steps may run at once."""


def find_misfits(problem: Problem, steps: Sequence[Step]) -> dict[int, str]:
    """Return why steps are no instances of actions of `problem`, by their places; they may name what they create."""
    domain = problem.domain
    known = {each.name for each in problem.all_objects}
    created = {name: kind for step in steps for name, kind in _list_created(domain, step) if name not in known}
    actions = {name: Action(name, each.step_parameters) for name, each in domain.actions.items()}
    outline = Problem(
        problem.name,
        DomainModel(domain.name, domain.types, actions=actions),
        (*problem.all_objects, *[Object(name, (kind,)) for name, kind in created.items()]),
    )
    rules = Simulation(outline).rules
    return {place: why for place, step in enumerate(steps) if (why := rules.mismatch(step))}


def _list_created(domain: DomainModel, step: Step) -> Iterator[tuple[str, str]]:
    """Yield the objects that `step` creates, with their types."""
    action = domain.actions.get(step.action)
    if action is not None:
        yield from zip(action.created_arguments(step.arguments), action.creates.values(), strict=False)


def make_patterns(problem: Problem, steps: Sequence[Step]) -> list[Atom]:
    """Return patterns for `steps`, which fit `problem`; what no object is called is open: a step creates it."""
    known = {each.name for each in problem.all_objects}
    return [
        Atom(step.action, tuple([name if name in known else OPEN for name in declared_arguments(problem, step)]))
        for step in steps
    ]


def forbid_steps(problem: AnyProblem, never: Collection[Atom], not_first: Collection[Atom] = ()) -> Any:
    """Return the problem of any kind whose plans take no step of `never`, and begin with none of `not_first`."""
    if not never and not not_first:
        return problem
    classical = classical_of(problem)
    actions = classical.domain.actions

    def cut(steps: Collection[Atom]) -> list[Atom]:
        return [Atom(each.predicate, actions[each.predicate].declared_arguments(each.args)) for each in steps]

    known = [[each for each in steps if each.predicate in actions] for steps in (never, not_first)]
    return with_sealed_classical(problem, forbid_actions(classical, *map(cut, known)))


def trace_steps(patterns: Sequence[Atom], plan: Plan) -> tuple[Plan, tuple[int | None, ...]]:
    """Return `plan`, and for each step the place of its pattern in a longest common subsequence, None for others.

    Steps that start at one moment are put in the order of their patterns, unless their tasks are in another order.
    """
    plan = order_starts(patterns, plan)
    steps = plan.steps
    common = [[0] * (len(patterns) + 1) for _ in range(len(steps) + 1)]
    for row in reversed(range(len(steps))):
        for column in reversed(range(len(patterns))):
            skipped = max(common[row + 1][column], common[row][column + 1])
            same = common[row + 1][column + 1] + 1 if _covers(patterns[column], steps[row]) else 0
            common[row][column] = max(same, skipped)
    origins: list[int | None] = []
    column = 0
    for row, step in enumerate(steps):
        while column < len(patterns) and common[row][column] == common[row][column + 1]:
            column += 1
        is_kept = (
            column < len(patterns)
            and _covers(patterns[column], step)
            and (common[row][column] == common[row + 1][column + 1] + 1)
        )
        origins.append(column if is_kept else None)
        column += is_kept
    return plan, tuple(origins)


def _covers(pattern: Atom, step: Step) -> bool:
    pairs = zip(pattern.args, step.arguments, strict=False)
    return pattern.predicate == step.action and all(mine in (OPEN, other) for mine, other in pairs)


def order_starts(patterns: Sequence[Atom], plan: Plan) -> Plan:
    """Return `plan` with the steps of each start in the order of their first patterns, if its tasks allow that."""
    if not plan.times:
        return plan
    ranks = [
        next((place for place, each in enumerate(patterns) if _covers(each, step)), len(patterns))
        for step in plan.steps
    ]
    order = sorted(range(len(plan.steps)), key=lambda place: (plan.times[place].start, ranks[place], place))
    places = {place: new for new, place in enumerate(order)}
    tree = plan.tree if plan.tree is None else plan.tree.move_steps(places)
    steps, times = tuple([plan.steps[place] for place in order]), tuple([plan.times[place] for place in order])
    ordered = replace(plan, steps=steps, times=times, tree=tree)
    return ordered if tree is None or validate(plan.problem, ordered).valid else plan


@dataclass(frozen=True, slots=True)
class Kept:
    """A plan that keeps given steps: `origins` has for each step the place of the one that it keeps, or None.

    `keeps_most` says that it is proved that no plan keeps more. The status is OPTIMAL if, besides, none that keeps as
    many is charged less. Without a plan, it is the status of the problem itself.
    """

    status: Status
    stopped_by: StoppedBy
    plan: Plan | None = None
    origins: tuple[int | None, ...] = ()
    keeps_most: bool = False
    reason: str = ""


class KeepingSearch:
    """The search for plans of `problem`, of any kind, that keep most of the steps that `patterns` cover.

    Plans are those of `asked`, which is the problem with fewer plans: some steps may be forbidden.
    """

    def __init__(self, problem: Any, asked: AnyProblem, patterns: Sequence[Atom], limits: Limits) -> None:
        self._problem, self._asked, self._patterns, self._limits = problem, asked, patterns, limits
        self._classical = classical_of(asked)
        self._is_exact = not (is_temporal(self._classical) or has(self._classical, Construct.DEADLINE))
        self._excluded = -1
        """The most steps left out of which it is proved that no plan leaves out so few."""
        self._best: Plan | None = None
        self._origins: tuple[int | None, ...] = ()

    def run(self) -> Kept:
        """Return the plan."""
        found = self._find_first()
        if found is not None:
            return found
        self._leave_out_less()
        if not self._is_exact and self._lost <= 1:
            found = self._keep_in_any_order()
            if found is not None:
                return found
        if not self._is_small(self._lost, 1):
            is_late = self._limits.remaining is not None and self._count_marks(self._lost) <= MOST_MARKS
            stopped_by = StoppedBy.TIME if is_late else StoppedBy.INCOMPLETE
            return self._report(Result(Status.UNKNOWN, stopped_by), is_about_all=False)
        classical = keep_steps(self._classical, self._patterns, self._lost)
        return self._report(self._ask(classical, self._limits.share(1)), is_about_all=self._is_exact)

    def _count_marks(self, left_out: int) -> int:
        """Return about how many marks there are for so many steps left out; none are needed for all of them."""
        number = len(self._patterns)
        return 0 if left_out >= number else number * (left_out + 1) ** 2

    def _is_small(self, left_out: int, share: float = TRY_SHARE) -> bool:
        """Return whether the marks for so many steps left out are few enough for a `share` of the remaining time."""
        remaining = self._limits.remaining
        most = MOST_MARKS if remaining is None else min(MOST_MARKS, MARKS_PER_SECOND * share * remaining)
        return self._count_marks(left_out) <= most

    @property
    def _lost(self) -> int:
        """How many steps the best plan leaves out."""
        return len(self._patterns) - len([each for each in self._origins if each is not None])

    def _ask(self, classical: Problem, limits: Limits, mode: str = "anytime") -> Result:
        """Solve the problem with `classical` as its classical part, and keep the plan if it is the best one."""
        from planner.solve import answer

        marked = with_sealed_classical(self._asked, classical)
        found = qualify_by_findings(self._classical, answer(marked, SolveOptions(mode=mode).within(limits)))
        if found.plan is None:
            return found
        with Finishing():
            plan, origins = trace_steps(self._patterns, replace(found.plan, problem=self._problem))
            verdict = validate(self._problem, plan)
            if not verdict.valid:
                raise RuntimeError(f"internal error: a plan keeps steps and does not work: {verdict.reason}")
        lost = origins.count(None) - len(origins) + len(self._patterns)
        if self._best is None or (lost, plan.charge) < (self._lost, self._best.charge):
            self._best, self._origins = plan, origins
        return found

    def _try(self, left_out: int) -> Result:
        """Ask for any plan that leaves out at most so many steps; note that there is none where that is proved.

        The question for any plan at all is the last one, and has all the remaining time.
        """
        share = TRY_SHARE if left_out < len(self._patterns) else 1
        part = self._limits.part(TRY_SECONDS) if self._limits.time_limit is None else self._limits.share(share)
        found = self._ask(keep_steps(self._classical, self._patterns, left_out), part, "first")
        if found.status is Status.UNSOLVABLE and self._is_exact:
            self._excluded = max(self._excluded, left_out)
        return found

    def _keep_in_any_order(self) -> Kept | None:
        """Return the best plan if it keeps all steps and none that does them in any order is charged less.

        Note if no plan does all steps.
        """
        found = self._ask(require_steps(self._classical, self._patterns), self._limits.share(2 * TRY_SHARE))
        if found.status is Status.UNSOLVABLE:
            self._excluded = 0
        proved = self._report(found, is_about_all=True)
        return proved if proved.status is Status.OPTIMAL and not self._lost else None

    def _find_first(self) -> Kept | None:
        """Find a plan that leaves out few steps; return the answer where there is none."""
        number, left_out = len(self._patterns), self._excluded + 1
        while self._best is None:
            found = self._try(min(left_out, number))
            is_over = found.status is Status.UNSUPPORTED or found.stopped_by in (StoppedBy.CANCELLED, StoppedBy.MEMORY)
            if self._best is None and (is_over or left_out >= number):
                return self._report(found, is_about_all=True)
            left_out = max(2 * left_out, 1)
            is_late = found.stopped_by is StoppedBy.TIME
            left_out = left_out if self._is_small(left_out) and not is_late else number
        return None

    def _leave_out_less(self) -> None:
        """Leave out one step less than the best plan, as long as such plans are found."""
        before = self._lost + 1
        while self._excluded + 1 < self._lost < before and self._is_small(self._lost - 1):
            before = self._lost
            self._try(before - 1)

    def _report(self, found: Result, *, is_about_all: bool) -> Kept:
        """Return the best plan, or that there is none, after `found`, the last answer.

        `is_about_all` says that its proofs hold of all plans that keep as many steps as the best one, or of all plans.
        """
        best, stopped_by = self._best, found.stopped_by
        if best is None:
            reason = found.reason or f"no plan was found: {stopped_by.value}"
            return Kept(found.status, stopped_by, reason=reason)
        keeps_most = self._excluded >= self._lost - 1
        if not keeps_most:
            reason = f"another plan may keep more: {stopped_by.value}"
        elif is_about_all and found.status is Status.OPTIMAL and best.charge <= found.expect_plan().charge:
            return Kept(Status.OPTIMAL, stopped_by, best, self._origins, keeps_most)
        else:
            reason = found.reason or f"another plan that keeps as many may cost less: {stopped_by.value}"
        if stopped_by is StoppedBy.EXHAUSTED:
            stopped_by, reason = StoppedBy.INCOMPLETE, AT_ONCE if not is_about_all else reason
        return Kept(Status.SOLVED, stopped_by, best, self._origins, keeps_most, reason)
