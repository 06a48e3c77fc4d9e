"""Criteria by which plans are ranked, rules that exclude plans, and orders of plans.

Criteria are exact numbers, of which less is better; they decide one after the other, or as a weighted sum. A rule says
that certain steps are never taken, taken at most a few times, or need approval. Such steps are named by a tag
(`@irreversible`) or by an action (`pay`, `pay(alice, _)`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from typing import Any, Final

from planner.errors import InputError, did_you_mean
from planner.language.declare.atom_syntax import NotationError, parse_atom
from planner.lightweight import dataclass, replace
from planner.model import OPEN, TAGS, Action, Atom, DomainModel, Number, Problem, TypeHierarchy
from planner.model.domain import creates_objects
from planner.model.formulas import exact_number
from planner.plan import Plan, Step, exact, exact_sum
from planner.problem_kinds import classical_of
from planner.resources import resources
from planner.scheduling.schedule import makespan
from planner.validation.validate import validate


@dataclass(frozen=True, slots=True)
class StepPattern:
    """The steps with a `tag`, or those that match `pattern`, in which open arguments match everything."""

    tag: str = ""
    pattern: Atom | None = None

    def __str__(self) -> str:
        return f"@{self.tag}" if self.pattern is None else str(self.pattern)

    def matches(self, step: Step, domain: DomainModel) -> bool:
        """Return whether `step`, of an action of `domain`, matches."""
        if self.pattern is None:
            return self.tag in domain.actions[step.action].tags
        return self.pattern.matches(Atom(step.action, step.arguments))

    def find_in(self, plan: Plan) -> tuple[int, ...]:
        """Return the numbers, from 1, of the matching steps of `plan`."""
        domain = classical_of(plan.problem).domain
        return tuple([number for number, step in enumerate(plan.steps, start=1) if self.matches(step, domain)])


def read_step_pattern(text: str, problem: Problem) -> StepPattern:
    """Read a tag or an action of `problem`; raises `InputError` for anything else."""
    text, domain = text.strip(), problem.domain
    if text.startswith("@"):
        tag = text[1:]
        known = TAGS.union(*[action.tags for action in domain.actions.values()])
        if tag not in known:
            raise InputError(
                f"there is no tag '{tag}'", hint=did_you_mean(tag, known) or f"there are {', '.join(sorted(known))}"
            )
        return StepPattern(tag)
    try:
        pattern = parse_atom(text)
    except NotationError as mistake:
        raise InputError(mistake.problem, hint="write an action, or @ and a tag") from None
    name = pattern.predicate
    action = domain.actions.get(name)
    if action is None:
        raise InputError(f"there is no action '{name}'", hint=did_you_mean(name, domain.actions))
    arity = len(action.step_parameters)
    if not pattern.args:
        return StepPattern(pattern=Atom(name, (OPEN,) * arity))
    if len(pattern.args) != arity:
        raise InputError(f"{pattern} has {len(pattern.args)} arguments, not {arity}", hint=f"it is {action.signature}")
    if not creates_objects(domain):  # what is created has names that nobody declared
        _check_objects(pattern, action, problem)
    return StepPattern(pattern=pattern)


def _check_objects(pattern: Atom, action: Action, problem: Problem) -> None:
    """Raise `InputError` where `pattern` names no object, or one of a type that `action` does not take."""
    objects, types = {each.name: each for each in problem.all_objects}, TypeHierarchy(problem.domain.types)
    for name, parameter in zip(pattern.args, action.parameters, strict=True):
        if name == OPEN:
            continue
        if name not in objects:
            hint = did_you_mean(name, objects) or f"'_' stands for any; it is {action.signature}"
            raise InputError(f"{pattern}: there is no object '{name}'", hint=hint)
        if not types.is_a(objects[name].types, parameter.types):
            kind = " or ".join(parameter.types)
            raise InputError(f"{pattern}: '{name}' is no {kind}", hint=f"it is {action.signature}")


Measure = Callable[[Plan], Number]

COUNT: Final = "count "
"""Prefix of the names of criteria that count steps: `count pay(_)`."""
PLACES: Final = Decimal(10) ** -12
"""Precision to which probabilities are rounded."""


@dataclass(frozen=True, slots=True)
class Criterion:
    """A measure of plans in a `unit`; less is better, or more if `more` is true."""

    name: str
    measure: Measure
    unit: str = ""
    more: bool = False

    def charge(self, value: Number) -> Number:
        """Return `value`, negated if more is better."""
        return -value if self.more else value

    def __str__(self) -> str:
        return f"-{self.name}" if self.more else self.name


def risk(plan: Plan) -> Number:
    """Return the probability that some step of `plan` fails or has another outcome than the intended one.

    Steps are assumed to be independent, and none is tried again.
    """
    actions = classical_of(plan.problem).domain.actions
    success = Fraction(1)
    for step in plan.steps:
        success *= _success_probability(actions[step.action], step)
    return _round(1 - success)


def _success_probability(action: Action, step: Step) -> Fraction:
    """Return the probability of the intended outcome of `step`, the first of `action`."""
    risk, odds = action.odds(step.arguments)
    likely = [Fraction(share) for share in odds] or [Fraction(1)]
    return (1 - Fraction(risk)) * likely[0] / sum(likely)


def _round(fraction: Fraction) -> Number:
    number = (Decimal(fraction.numerator) / Decimal(fraction.denominator)).quantize(PLACES)
    return int(number) if number == int(number) else number.normalize()


def forgone(plan: Plan) -> Number:
    """Return the utility of the wishes that `plan` forgoes."""
    problem = replace(classical_of(plan.problem), budgets={}, deadline=None)
    return exact_sum(wish.utility or 0 for wish in validate(problem, plan.steps).forgone)


CRITERIA: Final[Mapping[str, Criterion]] = {
    each.name: each
    for each in (
        Criterion("cost", lambda plan: plan.cost),
        Criterion("length", len, "steps"),
        Criterion("duration", makespan, "s"),
        Criterion("risk", risk),
        Criterion("forgone", forgone),
        Criterion("irreversible", lambda plan: len(StepPattern("irreversible").find_in(plan)), "steps"),
        Criterion("approvals", lambda plan: len(StepPattern("needs_approval").find_in(plan)), "steps"),
    )
}
"""The criteria of every domain, beside its resources and `count …`."""


def read_criterion(what: str | Criterion | Measure, problem: Problem) -> Criterion:
    """Return the criterion of a name (with `-` before it, more is better), or of a function from plans to numbers.

    Raises `InputError` for anything else.
    """
    if isinstance(what, Criterion):
        return what
    if callable(what):
        return Criterion(getattr(what, "__name__", "value"), what)
    if not isinstance(what, str):
        raise InputError(f"{what!r} is no criterion", hint="give a name, or a function from a plan to a number")
    name = what.strip()
    if name.startswith("-"):
        found = read_criterion(name[1:], problem)
        return Criterion(found.name, found.measure, found.unit, not found.more)
    if name in CRITERIA:
        return CRITERIA[name]
    if name.startswith(COUNT):
        steps = read_step_pattern(name.removeprefix(COUNT), problem)
        return Criterion(f"{COUNT}{steps}", lambda plan: len(steps.find_in(plan)), "steps")
    known = dict.fromkeys(resource for action in problem.domain.actions.values() for resource in action.uses)
    if name not in known:
        names = [*CRITERIA, *known]
        hint = did_you_mean(name, names) or f"there are {', '.join(names)} and 'count ACTION'"
        raise InputError(f"there is no criterion '{name}'", hint=hint)
    return Criterion(name, lambda plan: resources(plan)[name])


def measure_plan(criterion: Criterion, plan: Plan) -> Number:
    """Return the exact value of `plan` by `criterion`; raises `InputError` for a function that gives no number."""
    value = criterion.measure(plan)
    try:
        return exact_number(Decimal(repr(value)) if isinstance(value, float) else value)
    except (ValueError, ArithmeticError):
        raise InputError(f"the criterion '{criterion.name}' gives {value!r}, which is no number") from None


_NOTATION: Final = re.compile(r"\s*(never|at most (\d+)(?: times)?|only if approved:?)\s+(\S.*)", re.IGNORECASE)
_HINT: Final = "write 'never WHAT', 'at most 2 times WHAT' or 'only if approved WHAT', with an action or @TAG"


class RuleKind(Enum):
    """The kinds of rules."""

    AT_MOST = "they are taken so many times at most"
    ONLY_IF_APPROVED = "somebody has to approve them"


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule about `steps`; `times` is for `AT_MOST`, where 0 means never."""

    kind: RuleKind
    steps: StepPattern
    times: int = 0

    def __str__(self) -> str:
        if self.kind is RuleKind.ONLY_IF_APPROVED:
            return f"only if approved {self.steps}"
        return f"at most {self.times} times {self.steps}" if self.times else f"never {self.steps}"

    def find_violation(self, plan: Plan) -> str:
        """Return how `plan` breaks this rule, in words; "" if it does not. Steps that need approval break none."""
        found = self.steps.find_in(plan)
        if self.kind is RuleKind.ONLY_IF_APPROVED or len(found) <= self.times:
            return ""
        steps = ", ".join(f"{number} {plan.steps[number - 1]}" for number in found)
        return f"{self}: step{'s' if len(found) > 1 else ''} {steps}"


def read_rule(what: str | Rule, problem: Problem) -> Rule:
    """Read a rule for `problem`; raises `InputError` for anything else."""
    if isinstance(what, Rule):
        return what
    match = _NOTATION.fullmatch(what) if isinstance(what, str) else None
    if match is None:
        raise InputError(f"{what!r} is no rule", hint=_HINT)
    steps = read_step_pattern(match[3], problem)
    if match[1].lower().startswith("only"):
        return Rule(RuleKind.ONLY_IF_APPROVED, steps)
    return Rule(RuleKind.AT_MOST, steps, int(match[2] or 0))


_TERM: Final = re.compile(r"\s*([+-]?)\s*(?:(\d+(?:\.\d+)?)\s*\*\s*)?([^+*]+?)\s*(?=[+]|\s-\s|$)")


@dataclass(frozen=True, slots=True)
class Order:
    """An order of plans: by the first criterion that differs, or by the sum with these `weights`."""

    criteria: tuple[Criterion, ...]
    weights: tuple[Number, ...] = ()

    def __str__(self) -> str:
        if not self.weights:
            return ", then ".join(map(str, self.criteria))
        text = ""
        for weight, each in zip(self.weights, self.criteria, strict=True):
            sign = ("-" if weight < 0 else "") if not text else (" - " if weight < 0 else " + ")
            text += f"{sign}{'' if abs(weight) == 1 else f'{abs(weight)}*'}{each.name}"
        return text

    def score(self, values: Sequence[Number]) -> Number | None:
        """Return the weighted sum of `values`; None without weights."""
        if not self.weights:
            return None
        return exact_sum([Decimal(weight) * value for weight, value in zip(self.weights, values, strict=True)])

    def key(self, values: Sequence[Number]) -> tuple[Number, ...]:
        """Return the sort key of plans with these `values`."""
        score = self.score(values)
        return tuple(self.charges(values)) if score is None else (score,)

    def charges(self, values: Sequence[Number]) -> list[Number]:
        """Return `values` as numbers of which less is better, with the weights applied if there are any."""
        if self.weights:
            return [exact(Decimal(weight) * value) for weight, value in zip(self.weights, values, strict=True)]
        return [each.charge(value) for each, value in zip(self.criteria, values, strict=True)]


def read_order(by: Any, problem: Problem) -> Order:
    """Return the order that `by` describes (see `rank`); raises `InputError` for anything else."""
    if isinstance(by, Order):
        return by
    if isinstance(by, str):
        return _parse_order(by, problem)
    if isinstance(by, Mapping):
        return _order_by_sum([(read_criterion(name, problem), weight) for name, weight in by.items()])
    if callable(by) or isinstance(by, Criterion):
        by = [by]
    if not isinstance(by, Iterable):
        raise InputError(f"{by!r} is no order of plans", hint="give criteria: 'cost, duration' or '2*cost + duration'")
    return _order_lexicographically([read_criterion(each, problem) for each in by])


def _parse_order(text: str, problem: Problem) -> Order:
    """Parse `cost, duration` or `2*cost + duration`."""
    if "*" not in text and "+" not in text:
        return _order_lexicographically([read_criterion(name, problem) for name in _split_outside_brackets(text)])
    terms, place = list[tuple[Criterion, Any]](), 0
    while place < len(text.rstrip()):
        match = _TERM.match(text, place)
        if match is None or match.end() == place:
            raise InputError(f"{text!r} is no sum of criteria", hint="write '2*cost + duration'")
        sign = -1 if match[1] == "-" else 1
        terms.append((read_criterion(match[3], problem), sign * Decimal(match[2] or 1)))
        place = match.end()
    return _order_by_sum(terms)


def _split_outside_brackets(text: str) -> list[str]:
    """Split `text` at the commas outside brackets."""
    return [part.strip() for part in re.split(r",(?![^(]*\))", text)]


def _order_lexicographically(criteria: list[Criterion]) -> Order:
    _check_distinct(criteria)
    return Order(tuple(criteria))


def _order_by_sum(terms: list[tuple[Criterion, Any]]) -> Order:
    _check_distinct([each for each, _ in terms])
    weights = []
    for each, weight in terms:
        try:
            number = exact(Decimal(repr(weight) if isinstance(weight, float) else weight))
        except (ArithmeticError, TypeError, ValueError):
            raise InputError(f"the weight of '{each.name}' is {weight!r}, which is no number") from None
        weights.append(-number if each.more else number)
    return Order(tuple([Criterion(each.name, each.measure, each.unit) for each, _ in terms]), tuple(weights))


def _check_distinct(criteria: Sequence[Criterion]) -> None:
    if not criteria:
        raise InputError("no criteria to rank by", hint="write 'cost, duration' or '2*cost + duration'")
    names = [each.name for each in criteria]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise InputError(f"the criterion '{twice[0]}' is given twice")
