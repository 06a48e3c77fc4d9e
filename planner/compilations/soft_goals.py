"""Soft goals and soft constraints, compiled to costs (Keyder and Geffner, 2009): a plan pays for what it forgoes.

    stage 0 ── steps ─→ stage 0 ── the goal ─→ stage 1 ── wish 0 is granted, or forgone ─→ stage 2 ── … ─→ stage n

A cheapest plan of the compiled problem has the most net benefit: the utilities of the wishes that come true, less the
cost of its steps. Its last steps are special actions that move a pointer from stage to stage; mapping back leaves them
out. Stages are facts about names that are no objects, so no quantifier ranges over them. One stage holds at a time,
which grounding proves: the pointer is one finite-domain variable.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence

from planner.compilations import Compilation
from planner.compilations.adl import compile_adl, with_items
from planner.compilations.lifted_relevance import relevant_part
from planner.compilations.trajectory_constraints import MARK, compile_constraints
from planner.lightweight import TYPE_CHECKING, Any, Final, replace
from planner.model.actions import Action, Literal, positive_atoms
from planner.model.domain import Predicate
from planner.model.formulas import TRUE, Atom, Formula, Not, Number, Variable, conjunction, conjuncts
from planner.model.problem import COST, Goal, Metric, Problem
from planner.options import Solve, SolveOptions
from planner.plan import Plan, Progress, Result, Status, StoppedBy, exact_sum
from planner.problem_kinds import classical_of

if TYPE_CHECKING:
    from planner.validation.verdict import Verdict

STAGE: Final = "@stage"
"""The predicate of stages; authors cannot declare a name that clashes by accident."""


def stage(number: int) -> Atom:
    """Return the fact that the pointer is at stage `number`."""
    return Atom(STAGE, (str(number),))


def moving(action: Action, name: str, origin: int, target: int, cost: Number) -> Action:
    """Return `action`, which has no parameters, as the special action `name`: it moves the pointer, too."""
    move: list[Literal] = [] if origin == target else [stage(target), Not(stage(origin))]
    requires = conjunction([*conjuncts(action.requires), stage(origin)])
    return replace(action, name=name, requires=requires, provides=(*action.provides, *move), cost=(cost,))


def staged(
    plain: Problem,
    special: Iterable[Action],
    goal: Formula,
    last: int,
    *,
    first_only: bool,
    without: Collection[str] = (),
) -> Problem:
    """Return the plain ADL problem with `special` actions, whose goal is `goal` with the pointer at stage `last`.

    Its own actions stay, except `without` some; with `first_only`, only until the pointer moves.
    """
    domain = plain.domain
    own = [action for action in domain.actions.values() if action.name not in without]
    actions = {action.name: _own(action, plain, first_only=first_only) for action in own}
    actions |= {action.name: action for action in special}
    predicates = {**domain.predicates, STAGE: Predicate(STAGE, (Variable("?number"),))}
    return replace(
        plain,
        domain=replace(domain, actions=actions, predicates=predicates),
        initial=(*plain.initial, stage(0)),
        goal=Goal(conjunction([*conjuncts(goal), stage(last)])),
        metric=Metric.COST,
    )


def _own(action: Action, plain: Problem, *, first_only: bool) -> Action:
    if plain.metric is Metric.LENGTH:
        action = replace(action, cost=(1,))
    if first_only:
        action = replace(action, requires=conjunction([*conjuncts(action.requires), stage(0)]))
    return action


def without_numbers(problem: Problem) -> Problem:
    """Return the `staged` problem with a predicate for each stage, for planners that want arguments to be objects."""
    domain = problem.domain
    actions = {
        name: replace(action, requires=_named(action.requires), provides=tuple(map(_named_literal, action.provides)))
        for name, action in domain.actions.items()
    }
    initial = tuple(map(_named_atom, problem.initial))
    written = [*initial, *(atom for action in actions.values() for atom in positive_atoms(action.provides))]
    predicates = {atom.predicate: Predicate(atom.predicate) for atom in written if atom.predicate.startswith(STAGE)}
    kept = {name: each for name, each in domain.predicates.items() if name != STAGE}
    return replace(
        problem,
        domain=replace(domain, predicates={**kept, **predicates}, actions=actions),
        initial=initial,
        goal=Goal(_named(problem.goal.hard)),
    )


def _named(condition: Formula) -> Formula:
    return conjunction([_named_atom(part) if isinstance(part, Atom) else part for part in conjuncts(condition)])


def _named_literal(literal: Literal) -> Literal:
    if isinstance(literal, Not) and isinstance(literal.part, Atom):
        return Not(_named_atom(literal.part))
    return _named_atom(literal) if isinstance(literal, Atom) else literal


def _named_atom(atom: Atom) -> Atom:
    return Atom(f"{STAGE}-{atom.args[0]}") if atom.predicate == STAGE else atom


SPENT: Final = "@spent"
"""The resource that a budget on the cost of steps limits, where forgone wishes cost something, too."""
END: Final = "@end"
_GRANT: Final = "@grant-"
_FORGO: Final = "@forgo-"


def compile_wishes(problem: Problem, *, whole: bool = False) -> Compilation:
    """Compile the relevant part of `problem`, or the `whole`, to plain ADL without soft goals and without constraints.

    Special actions, whose names begin with `@`, follow the steps of a plan; mapping back leaves them out. What they
    cost is what the wishes are worth that the plan forgoes, if it costs the least.
    """
    plain = compile_constraints(compile_adl(problem if whole else relevant_part(problem)).problem).problem
    hard, soft = plain.goal.hard, plain.goal.soft
    plain = with_spending(plain) if COST in plain.budgets else plain
    end = moving(Action(END, requires=hard), END, 0, 1, 0)
    special = [end, *granting([wish.condition for wish in soft], [wish.utility for wish in soft], 1)]
    found = staged(plain, special, hard, 1 + len(soft), first_only=True)
    compiled = found if problem.deadline is None else with_items(found, problem)
    return Compilation(compiled, lambda plan: _granted(plan, problem))


def _granted(plan: Plan, problem: Problem) -> Plan:
    """Return `plan` as one of `problem`: without the steps that grant and forgo wishes."""
    own = problem.domain.actions
    return replace(plan, steps=tuple([step for step in plan.steps if step.action in own]), problem=problem)


def granting(wishes: Sequence[Formula], costs: Iterable[Number], first: int) -> list[Action]:
    """Return special actions that find each wish to hold, or forgo it at its cost, from stage `first` on."""
    return [
        moving(Action(name, requires=condition), name, first + place, first + place + 1, price)
        for place, (wish, cost) in enumerate(zip(wishes, costs, strict=True))
        for name, condition, price in ((granted(place), wish, 0), (forgone(place), TRUE, cost))
    ]


def granted(place: int) -> str:
    """Return the name of the special action that finds the wish at this place to hold."""
    return f"{_GRANT}{place}"


def forgone(place: int) -> str:
    """Return the name of the special action that forgoes the wish at this place."""
    return f"{_FORGO}{place}"


def granted_by(names: Iterable[str]) -> frozenset[int]:
    """Return the places of the wishes that the special actions of `names` find to hold."""
    return frozenset([int(name.removeprefix(_GRANT)) for name in names if name.startswith(_GRANT)])


def with_spending(plain: Problem) -> Problem:
    """Return `plain` with its budget on the cost for a resource, of which steps use what they cost."""
    actions = {
        name: replace(action, uses={**action.uses, SPENT: (1,) if plain.metric is Metric.LENGTH else action.cost})
        for name, action in plain.domain.actions.items()
    }
    budgets = {SPENT if name == COST else name: limit for name, limit in plain.budgets.items()}
    return replace(plain, domain=replace(plain.domain, actions=actions), budgets=budgets)


_MONITOR: Final = re.compile(rf"nothing makes this part of the goal true: .*?{MARK}(\d+).*", re.DOTALL)
_SPENDING: Final = re.compile(rf"uses (\S+) of {SPENT}")


def solve_with_wishes(problem: Problem, options: SolveOptions, solve: Solve) -> Result:
    """Return the answer to `problem`, in which something is wished for; `solve` answers for problems without wishes."""
    compiled = compile_wishes(problem)
    if options.engine is not None:
        compiled = replace(compiled, problem=without_numbers(compiled.problem))
    return Wishing(problem, compiled, options).answer(solve)


def valued(plan: Plan, verdict: Verdict) -> Plan:
    """Return `plan` with what it gains and forgoes, as the plan checker says."""
    wishes = classical_of(plan.problem).wishes
    if not wishes:
        return plan
    lost: list[Number] = [-(wish.utility or 0) for wish in verdict.forgone]
    return replace(plan, utility=exact_sum([*[wish.utility or 0 for wish in wishes], *lost]), forgone=verdict.forgone)


class Wishing:
    """One call of `solve`: plans are handed on as those of the declared problem, which may be of another kind."""

    def __init__(self, problem: Any, compiled: Compilation, options: SolveOptions) -> None:
        self.problem = problem
        self._compiled = compiled
        self._classical = classical_of(problem)
        self._options = options
        self._latest: tuple[Plan | None, Plan | None] = None, None

    def answer(self, solve: Solve) -> Result:
        """Return what is found for the compiled problem, without wishes, as the answer to the one with them."""
        report = None if self._options.on_progress is None else self._report
        found = solve(self._compiled.problem, replace(self._options, on_progress=report))
        result = replace(found, plan=self._declared(found.plan), reason=self._in_words(found.reason))
        settled = result.status is Status.SOLVED and result.gap is not None and result.gap <= 0
        return replace(result, status=Status.OPTIMAL, stopped_by=StoppedBy.EXHAUSTED) if settled else result

    def verdict(self, plan: Plan) -> Verdict:
        """Return what the independent checker says about `plan`."""
        from planner.validation.validate import validate

        return validate(self.problem, plan)

    def _report(self, progress: Progress) -> None:
        assert self._options.on_progress is not None
        self._options.on_progress(replace(progress, plan=self._declared(progress.plan)))

    def _declared(self, plan: Plan | None) -> Plan | None:
        """Return `plan` mapped back, with what it forgoes; the same one for the same.

        Steps may forgo what holds. So an earlier plan may be better: then that is returned.
        """
        if plan is None or plan is self._latest[0]:
            return self._latest[1] if plan is not None else None
        found = self._compiled.map_back(plan)
        verdict = self.verdict(found)
        if not verdict.valid:
            raise RuntimeError(f"internal error: search found a plan that is not valid: {verdict.reason}")
        found, earlier = valued(found, verdict), self._latest[1]
        self._latest = plan, found if earlier is None or found.charge < earlier.charge else earlier
        return self._latest[1]

    def _in_words(self, reason: str) -> str:
        """Return `reason` in words of the declared problem."""
        monitor = _MONITOR.fullmatch(reason)
        if monitor is not None:
            return f"nothing can keep this constraint: {self._classical.constraints[int(monitor[1])]}"
        return _SPENDING.sub(r"costs \1", reason).replace(SPENT, COST)
