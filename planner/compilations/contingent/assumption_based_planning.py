"""Assumption-based planning for unknown facts (Davis-Mendelow, Baier and McIlraith, 2013), in three searches.

The first search assumes that every possible condition holds; its optimum is a lower bound. The second plans on known
facts only. The difference of their costs is the price of a wrong supposition. The third search has actions that suppose
unknown facts. A supposition costs the probability that it is wrong times that price, plus the cost of the failing step
if no step has sensed the fact before. So the search weighs whether sensing pays.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from decimal import Decimal
from fractions import Fraction

from planner.compilations import Compiled, reserve_name
from planner.compilations.budgets import budget_spending
from planner.compilations.contingent.knowledge import (
    Translation,
    fill_open_arguments,
    find_affected,
    mentions,
    prepare_translation,
    rename,
)
from planner.compilations.driver import value_plan
from planner.lightweight import Final, dataclass, field, replace
from planner.model.actions import Action, Literal, When
from planner.model.domain import Function
from planner.model.formulas import OPEN, TRUE, Atom, Not, Number, Variable, conjunction
from planner.model.problem import Metric, Problem
from planner.options import Solve, SolveOptions
from planner.plan import Plan, Progress, Result, Status, Step, StoppedBy, Supposition, exact, exact_sum
from planner.portfolio.search_history import Recorder
from planner.validation.validate import check_steps

DIGITS: Final = 4
"""Significant digits of the highest price; all prices are rounded to the same decimal place."""


@dataclass(frozen=True, slots=True)
class Supposing:
    """A problem with actions that suppose facts; `meaning` maps their names to a predicate and the supposed truth."""

    problem: Problem
    meaning: Mapping[str, tuple[str, bool]]

    def without(self, steps: Iterable[Step]) -> tuple[tuple[Step, ...], dict[Atom, bool]]:
        """Return `steps` without those that suppose facts, and the supposed facts."""
        kept: list[Step] = []
        supposed: dict[Atom, bool] = {}
        for step in steps:
            meaning = self.meaning.get(step.action)
            if meaning is None:
                kept.append(step)
            else:
                supposed[Atom(meaning[0], step.arguments)] = meaning[1]
        return tuple(kept), supposed


def add_suppositions(asked: Translation, knowing: Problem, surprise: Number | None) -> Supposing:
    """Add actions that suppose unknown facts to `knowing`, a translation of what was `asked`.

    `surprise` is the price of a wrong supposition, beside the cost of a step that fails; None makes all prices 0.
    """
    source = asked.problem
    writer = _SuppositionBuilder(asked, {*knowing.domain.actions}, {*knowing.domain.functions})
    for name in asked.words.open:
        writer.write(name)
    failure = {name: highest_cost(source, name) for name in asked.words.open}
    prices: dict[Atom, Fraction] = {}
    for variable in asked.variables:
        for fact, chance in zip(variable.facts, variable.chances, strict=True):
            for kind in writer.kinds[fact.predicate]:
                fails = 0 if kind.looked else Fraction(failure[fact.predicate])
                price = 0 if surprise is None else Fraction(surprise) + fails
                prices[Atom(kind.price, fact.args)] = (1 - chance if kind.holds else chance) * price
    knowing = budget_spending(knowing)
    actions = {**knowing.domain.actions, **writer.actions}
    domain = replace(knowing.domain, actions=actions, functions={**knowing.domain.functions, **writer.functions})
    kinds = [(each.action, (name, each.holds)) for name, found in writer.kinds.items() for each in found]
    return Supposing(replace(knowing, domain=domain, values={**knowing.values, **_round(prices)}), dict(kinds))


def price_of_surprise(lucky: Number | None, safe: Number | None) -> Number:
    """Return the price of a wrong supposition, from the costs of the optimistic plan and of the `safe` one.

    It is their difference; without a safe plan, it is the cost of the `lucky` plan.
    """
    hoped = lucky or 0
    return hoped if safe is None else max(safe - hoped, 0)


def highest_cost(problem: Problem, predicate: str) -> Number:
    """Return the highest cost of the actions of `problem` that read `predicate`, as far as costs are numbers."""
    if problem.metric is Metric.LENGTH:
        return 1
    most: dict[str, Number] = {}
    for atom, value in problem.values.items():
        most[atom.predicate] = max(value, most.get(atom.predicate, 0))
    costs: list[Number] = [0]
    read = find_affected(problem.domain, [predicate])
    for action in problem.domain.actions.values():
        if mentions(action.requires, read):
            terms = [most.get(term.predicate, 0) if isinstance(term, Atom) else term for term in action.cost]
            costs.append(exact_sum([term for term in terms if isinstance(term, int | Decimal)]))
    return max(costs)


def _round(prices: Mapping[Atom, Fraction]) -> dict[Atom, Number]:
    """Return `prices` as decimals, rounded to one decimal place by `DIGITS`."""
    decimals = {atom: Decimal(price.numerator) / price.denominator for atom, price in prices.items()}
    unit = Decimal(1).scaleb(max(decimals.values()).adjusted() - DIGITS + 1)
    return {atom: exact(price.quantize(min(unit, Decimal(1)))) for atom, price in decimals.items()}


@dataclass(frozen=True, slots=True)
class _Kind:
    """A way to suppose facts: the action, the function of its price, the supposed truth, and whether it was sensed."""

    action: str
    price: str
    holds: bool
    looked: bool


@dataclass(frozen=True, slots=True)
class _SuppositionBuilder:
    """Builds the actions that suppose the facts of a translation."""

    asked: Translation
    taken_actions: set[str]
    taken_functions: set[str]
    kinds: dict[str, list[_Kind]] = field(default_factory=dict)
    actions: dict[str, Action] = field(default_factory=dict)
    functions: dict[str, Function] = field(default_factory=dict)

    def write(self, name: str) -> None:
        """Build the actions that suppose facts of the predicate `name`."""
        parameters = self.asked.problem.domain.predicates[name].parameters
        parameters = tuple([Variable(f"?a{place}", each.types) for place, each in enumerate(parameters)])
        fact = Atom(name, tuple([each.name for each in parameters]))
        self.kinds[name] = []
        for looked in (True, False) if name in self.asked.words.seen else (False,):
            for holds in (True, False):
                kind = self._name_kind(name, holds=holds, looked=looked)
                self.kinds[name].append(kind)
                self.functions[kind.price] = Function(kind.price, parameters)
                self.actions[kind.action] = self._action(kind, fact, parameters)

    def _name_kind(self, name: str, *, holds: bool, looked: bool) -> _Kind:
        word = f"{'see' if looked else 'suppose'}-{'' if holds else 'not-'}{name}"
        return _Kind(
            reserve_name(word, self.taken_actions, "-"),
            reserve_name(f"price-{word}", self.taken_functions, "-"),
            holds,
            looked,
        )

    def _action(self, kind: _Kind, fact: Atom, parameters: tuple[Variable, ...]) -> Action:
        words = self.asked.words
        needs = [rename(fact, words.open), *([rename(fact, words.seen)] if kind.looked else [])]
        provides: list[Literal] = [Not(rename(fact, words.open))]
        provides += [fact, rename(fact, words.possible)] if kind.holds else [Not(rename(fact, words.possible))]
        provides += self._guessed(kind, fact)
        when = tuple(self._others(kind, fact, parameters)) if kind.holds else ()
        price = Atom(kind.price, fact.args)
        return Action(kind.action, parameters, conjunction(needs), tuple(provides), when=when, cost=(price,))

    def _guessed(self, kind: _Kind, fact: Atom) -> Iterator[Literal]:
        if not kind.looked and fact.predicate in self.asked.words.guessed:
            yield rename(fact, self.asked.words.guessed)

    def _others(self, kind: _Kind, fact: Atom, parameters: tuple[Variable, ...]) -> Iterator[When]:
        """Yield the effect that the other facts of the same item are false."""
        words, places = self.asked.words, self.asked.items.get(fact.predicate, ())
        if not places:
            return
        opened = Atom(fact.predicate, tuple([OPEN if at in places else arg for at, arg in enumerate(fact.args)]))
        other, variables = fill_open_arguments(opened, parameters, fact.args)
        ended = (Not(rename(other, words.possible)), Not(rename(other, words.open)))
        yield When(TRUE, (*ended, *self._guessed(kind, other)), (), variables)


SHARE: Final = 0.35
"""Share of the remaining time for the first search, and for the second."""
IN_NO_CASE: Final = "no plan reaches the goal, however the unknown facts turn out"
CARELESS: Final = "no plan is known in which no irreversible step rests on what could be looked at before"


def compile_unknown(problem: Problem, asked: Translation, surprise: Number | None) -> Compiled:
    """Compile unknown facts to actions that suppose them; plans map back to plans with suppositions."""
    made = add_suppositions(asked, asked.knowing(), surprise)

    def lift(plan: Plan) -> Plan:
        steps, supposed = made.without(plan.steps)
        expected = tuple([Supposition(fact, holds) for fact, holds in supposed.items()])
        return Plan(steps, problem, suppositions=expected)

    return Compiled(made.problem, lift)


def solve_with_unknown(problem: Problem, options: SolveOptions, solve: Solve) -> Result:
    """Solve `problem`, which has unknown facts; `solve` is called for the translations.

    A plan with suppositions is never proved optimal. The problem is unsolvable if even the optimistic translation, in
    which every possible condition holds, has no plan.
    """
    asked = prepare_translation(problem)
    if asked is None:
        found = solve(replace(problem, unknown=(), likely={}), options)
        return found if found.plan is None else replace(found, plan=replace(found.plan, problem=problem))
    return _Searches(problem, asked, options, solve).run()


def _charge(found: Result) -> Number | None:
    return None if found.plan is None else found.plan.charge


class _Searches:
    """The three searches, with the best plan and lower bound so far."""

    def __init__(self, problem: Problem, asked: Translation, options: SolveOptions, solve: Solve) -> None:
        self._problem = problem
        self._asked = asked
        self._options = options
        self._solve = solve
        self._limits = options.limits()
        self._recorder = Recorder()
        self._plan: Plan | None = None
        self._bound: Number | None = None

    def run(self) -> Result:
        """Run the searches, and return the answer."""
        lucky = self._search(self._asked.optimistic(), SHARE, self._keep_optimistic)
        self._bound = lucky.plan.charge if lucky.plan and lucky.status is Status.OPTIMAL else lucky.lower_bound
        if lucky.status is Status.UNSUPPORTED:
            return lucky
        if lucky.status is Status.UNSOLVABLE:
            return replace(lucky, reason=IN_NO_CASE)
        if self._is_optimal or lucky.stopped_by in (StoppedBy.CANCELLED, StoppedBy.MEMORY):
            return self._answer(lucky)
        return self._plan_with_suppositions(_charge(lucky))

    def _plan_with_suppositions(self, lucky: Number | None) -> Result:
        """Run the second and the third search; `lucky` is the cost of the optimistic plan."""
        knowing, fallback, self._plan = self._asked.knowing(), self._plan, None
        safe = self._search(knowing, SHARE, lambda plan: self._keep(Plan(plan.steps, self._problem)))
        if self._is_optimal or safe.stopped_by in (StoppedBy.CANCELLED, StoppedBy.MEMORY):
            return self._answer(safe)
        compiled = compile_unknown(self._problem, self._asked, price_of_surprise(lucky, _charge(safe)))
        found = self._search(compiled.problem, 1, lambda plan: self._keep(compiled.lift(plan)))
        self._plan = self._plan or fallback
        return self._answer(found)

    def _search(self, problem: Problem, share: float, note: Callable[[Plan], None]) -> Result:
        def report(progress: Progress) -> None:
            if progress.plan is not None:
                note(progress.plan)
            self._recorder.note_progress(self._limits.elapsed, self._plan, self._bound, progress.statistics)
            if self._options.on_progress is not None:
                self._options.on_progress(replace(progress, plan=self._plan, lower_bound=self._bound))

        began = self._limits.elapsed
        found = self._solve(problem, self._options.within(self._limits, share, on_progress=report))
        self._recorder.take_turns(found.history, began)
        if found.plan is not None:
            note(found.plan)
        return found

    def _keep_optimistic(self, plan: Plan) -> None:
        """Keep the optimistic `plan` if it works on suppositions that do not contradict each other."""
        if self._plan is not None and self._plan.steps == plan.steps:
            return
        verdict = check_steps(self._problem, plan.steps)
        if verdict.valid:
            self._plan = value_plan(Plan(plan.steps, self._problem, suppositions=verdict.suppositions), verdict)

    def _keep(self, plan: Plan) -> None:
        """Keep `plan` of the second or third search, with the suppositions that its steps need."""
        if self._plan is not None and self._plan.steps == plan.steps:
            return
        verdict = check_steps(self._problem, plan)
        if not verdict.valid:
            raise RuntimeError(f"internal error: search found a plan that is not valid: {verdict.reason}")
        self._plan = value_plan(replace(plan, suppositions=verdict.suppositions), verdict)

    @property
    def _is_optimal(self) -> bool:
        plan = self._plan
        return plan is not None and not plan.suppositions and self._bound is not None and plan.charge <= self._bound

    def _answer(self, found: Result) -> Result:
        """Return the answer; the last search ended with `found`."""
        status = Status.UNKNOWN if self._plan is None else Status.OPTIMAL if self._is_optimal else Status.SOLVED
        said = [found.reason, self._why_not() if found.status is Status.UNSOLVABLE and self._plan is None else ""]
        if self._plan is not None and self._plan.suppositions:
            said.append(f"it supposes {'; '.join(map(str, self._plan.suppositions))}")
        reason = "; ".join(filter(None, said))
        answer = replace(found, status=status, plan=self._plan, lower_bound=self._bound, reason=reason)
        return self._recorder.finish(self._limits.elapsed, answer)

    def _why_not(self) -> str:
        """Explain why the third search proved that there is no plan."""
        return CARELESS if self._asked.words.guessed else IN_NO_CASE
