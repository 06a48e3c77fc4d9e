"""Serve parts of a request that no fact expresses, by steps that a language model proposes.

The steps are type-checked and become landmarks of a plan. Nothing can confirm that they serve, so people approve them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Annotated, Any, Final

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError
from pydantic.errors import PydanticUserError

from executor.agent.describe_problem import describe_domain, describe_goal, describe_state
from executor.agent.plan_search import Missing, list_missing, solve_in_thread
from executor.background_searches import search_in_turn
from executor.errors import ModelError
from executor.language_model.checked_answers import ROUNDS, TIMEOUT, ask_checked
from executor.language_model.protocol import Answer, LanguageModel, Meter, Origin, Part, Purpose, Request
from executor.plans.action_plan import texts_of
from planner.errors import InputError, did_you_mean, with_article
from planner.explain.unsolvability import find_unreachable_parts
from planner.language.declare import resolve_action
from planner.language.declare.declared_names import fold_name
from planner.lightweight import dataclass, field, replace
from planner.limits import Limits
from planner.model import OPEN, Action, Atom, Constraint, ConstraintKind, Done, Exists, Formula, Goal, Problem, Variable
from planner.model.formulas import substitute
from planner.plan import Result, Step
from planner.semantics.condition_solver import Universe
from planner.semantics.constraint_monitors import covers

Name = Annotated[str, Field(max_length=100)]
Text = Annotated[str, Field(max_length=500)]
ANY: Final = "_"


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid")


class ProposedStep(_Part):
    """A step that would help."""

    action: Name = Field(description="a listed action")
    arguments: dict[Name, Name] = Field(
        default_factory=dict, max_length=20, description="objects by parameter; left out where any object will do"
    )
    values: dict[Name, Any] = Field(
        default_factory=dict, max_length=20, description="values by open parameter, where the user says them"
    )


class Serving(_Part):
    """Steps that serve one of the parts, or what is lacking for it."""

    part: Text = Field(description="the part, word for word")
    steps: list[ProposedStep] = Field(default_factory=list, max_length=20)
    lacking: Text = Field("", description="without steps: what one would have to be able to do for it")


class Proposed(Answer):
    """What would serve each of the parts."""

    parts: list[Serving] = Field(default_factory=list, max_length=20)


INSTRUCTIONS: Final = """\
A user wants something of which no listed fact expresses some parts. For each of these parts, name the steps that serve
it, in their order: listed actions only, with listed objects only. Leave out what the steps need beforehand: a planner
finds that, and reaches the goal. Propose nothing for the sake of it: if no listed action serves a part, give no steps,
and say what is lacking. Somebody looks at what you propose before anything is done.
"""


@dataclass(frozen=True, slots=True)
class Landmark:
    """A step that serves `part` of a request: the plan must have a step that `pattern` covers.

    `values` are values of its data parameters.
    """

    part: str
    pattern: Atom
    values: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return str(self.pattern)


def read_landmarks(problem: Problem, parts: Iterable[Serving]) -> tuple[list[Landmark], list[str]]:
    """Read the landmarks in `parts`; return them, and the mistakes in the others, in words."""
    universe, found, wrong = Universe(problem), list[Landmark](), list[str]()
    for part in parts:
        for step in part.steps:
            try:
                made = _read_landmark(problem, universe, part.part, step)
            except InputError as error:
                wrong.append(str(error))
                continue
            if any(each.pattern == made.pattern for each in found):
                wrong.append(f"{made} is proposed more than once")
            found.append(made)
    return found, wrong


def demand_landmarks(problem: Problem, found: Sequence[Landmark]) -> Problem:
    """Constrain `problem` to plans through all landmarks, those for one part in their order."""
    demands = [Constraint(ConstraintKind.SOMETIME, Done(each.pattern)) for each in found]
    demands += [
        Constraint(ConstraintKind.BEFORE, Done(one.pattern), Done(other.pattern))
        for one, other in pairwise(found)
        if one.part == other.part
    ]
    return replace(problem, constraints=(*problem.constraints, *demands))


def condition_before(problem: Problem, landmark: Landmark) -> Formula:
    """Return the precondition of a step that `landmark` covers."""
    action = problem.domain.actions[landmark.pattern.predicate]
    pairs = list(zip(action.parameters, landmark.pattern.args, strict=False))
    bound = {each.name: arg for each, arg in pairs if arg != OPEN}
    free = tuple([Variable(each.name, each.types) for each, arg in pairs if arg == OPEN])
    condition = substitute(action.requires, bound)
    return Exists(free, condition) if free else condition


def place_landmarks(found: Iterable[Landmark], steps: Sequence[Step]) -> Iterator[tuple[Landmark, int]]:
    """Yield each landmark with the position of a covered step, a different one for each landmark."""
    taken: set[int] = set()
    for each in found:
        fitting = [place for place, step in enumerate(steps) if covers(Done(each.pattern), step)]
        place = next((place for place in fitting if place not in taken), None)
        if place is not None:
            taken.add(place)
            yield each, place


def _read_landmark(problem: Problem, universe: Universe, part: str, step: ProposedStep) -> Landmark:
    """Resolve `step` as a landmark; raises `InputError` for unknown names and unfit values."""
    action = resolve_action(problem.domain, step.action)
    given = {fold_name(name): name for name in step.arguments}
    names = {fold_name(each.name.removeprefix("?")): each for each in action.parameters}
    for key, name in given.items():
        if key not in names:
            raise InputError(f"{action.signature} has no parameter {name!r}")
    args = [
        _find_object(universe, action, each, step.arguments[given[key]]) if key in given else OPEN
        for key, each in names.items()
    ]
    return Landmark(part, Atom(action.name, tuple(args)), _check_values(action, step.values))


def _find_object(universe: Universe, action: Action, parameter: Variable, name: str) -> str:
    """Find the object called `name`, up to case and punctuation; raises `InputError`."""
    if name == ANY:
        return OPEN
    found = name if name in universe else next((each for each in universe if fold_name(each) == fold_name(name)), None)
    if found is None:
        near = did_you_mean(name, list(universe))
        raise InputError(f"there is no object {name!r}", hint=near or None)
    if found not in universe.of_types(parameter.types):
        wanted, kind = (with_article(" or ".join(each)) for each in (parameter.types, universe.types_of(found)))
        raise InputError(f"{found!r} is {kind}, and {action.signature} takes {wanted} there")
    return found


def _check_values(action: Action, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return `values` by data parameter; raises `InputError` for a value of the wrong type."""
    data = {fold_name(each.name): each for each in action.data if not each.fixed}
    found: dict[str, Any] = {}
    for name, value in values.items():
        parameter = data.get(fold_name(name))
        if parameter is None:
            raise InputError(f"{action.name} has no open parameter {name!r}")
        try:
            TypeAdapter(parameter.annotation).validate_python(value)
        except (ValidationError, PydanticUserError) as error:
            said = error.errors()[0]["msg"] if isinstance(error, ValidationError) else "it has no form in JSON"
            raise InputError(f"{parameter.name} of {action.name} cannot be {value!r}: {said}") from None
        found[parameter.name] = value
    return found


SECONDS = 5.0
"""Time limit of the explanation why a step is impossible, in seconds."""


@dataclass(frozen=True, slots=True)
class Improvised:
    """A plan through steps for parts of a request that no fact expresses; `problem` demands these steps.

    `left` are the parts that no step serves, `missing` are the missing capabilities, and `reason` explains more.
    """

    problem: Problem
    result: Result
    landmarks: tuple[Landmark, ...] = ()
    left: tuple[str, ...] = ()
    missing: tuple[Missing, ...] = ()
    thought: str = ""
    reason: str = ""
    serving: tuple[Serving, ...] = ()
    """The steps that were proposed for each part."""

    @property
    def values(self) -> dict[int, Mapping[str, Any]]:
        """Values of data parameters from the landmarks, by position in the plan."""
        return {place: landmark.values for landmark, place in self._placed if landmark.values}

    @property
    def unverified(self) -> dict[str, tuple[str, ...]]:
        """The ground steps that serve each part, as texts."""
        (taken,) = texts_of([self._steps])
        found: dict[str, tuple[str, ...]] = {}
        for landmark, place in self._placed:
            found[landmark.part] = (*found.get(landmark.part, ()), taken[place])
        return found

    @property
    def _steps(self) -> tuple[Step, ...]:
        return self.result.plan.steps if self.result.plan is not None else ()

    @property
    def _placed(self) -> list[tuple[Landmark, int]]:
        return list(place_landmarks(self.landmarks, self._steps))


@dataclass(slots=True, eq=False)
class Improviser:
    """Asks a `model` for steps that serve parts of a request, and plans through them; `time_limit` is for a search."""

    model: LanguageModel
    time_limit: float | None = 10.0
    rounds: int = ROUNDS
    timeout: float = TIMEOUT

    async def improvise(
        self,
        problem: Problem,
        parts: Sequence[str],
        sentence: str,
        *,
        meter: Meter | None = None,
        context: Sequence[Part] = (),
    ) -> Improvised:
        """Plan for `problem` through steps that serve `parts` of `sentence`, as far as the model finds such steps."""
        judge = _ProposalChecker(problem, tuple(parts), self.time_limit)
        request = _make_request(problem, parts, sentence, context)
        thought, reason, serving = "", "", list[Serving]()
        try:
            found = await ask_checked(
                self.model, request, Proposed, check=judge, meter=meter, rounds=self.rounds, timeout=self.timeout
            )
            thought, serving = found.value.thought, found.value.parts
        except ModelError as error:
            judge.found, reason = [], str(error)
        result = judge.result if judge.found else None
        if result is None:
            result = await solve_in_thread(problem, time_limit=self.time_limit)
        return _make_improvised(judge, result, serving, thought, reason)


async def improvise_again(
    problem: Problem, parts: Sequence[str], said: Proposed, time_limit: float | None
) -> Improvised:
    """Plan for `problem` through the steps that were `said` earlier to serve `parts`, without a model."""
    judge = _ProposalChecker(problem, tuple(parts), time_limit)
    wrong = await judge(said)
    result = judge.result if judge.found else None
    if result is None:
        result = await solve_in_thread(problem, time_limit=time_limit)
    return _make_improvised(judge, result, said.parts, said.thought, "; ".join(wrong))


def _make_improvised(
    judge: _ProposalChecker, result: Result, serving: Sequence[Serving], thought: str, reason: str
) -> Improvised:
    served = {each.part for each in judge.found}
    left = tuple([part for part in judge.parts if part not in served])
    lacking = {each.part: each.lacking for each in serving if each.lacking}
    missing = (*[Missing(lacking[part], (part,)) for part in left if part in lacking], *judge.missing)
    problem = demand_landmarks(judge.problem, judge.found)
    return Improvised(problem, result, tuple(judge.found), left, missing, thought, reason, tuple(serving))


def _make_request(problem: Problem, parts: Sequence[str], sentence: str, context: Sequence[Part]) -> Request:
    listed = "\n".join(f"- {part}" for part in parts)
    shown = (
        Part("What there is", describe_domain(problem)),
        Part("What holds now", describe_state(problem.initial)),
        Part("The goal, as far as facts express it", describe_goal(problem)),
        *context,
        Part("What the user wants", sentence, Origin.USER),
        Part("The parts that no fact expresses", listed, Origin.USER),
    )
    return Request(Purpose.STEPS, INSTRUCTIONS, shown, Proposed)


@dataclass(slots=True, eq=False)
class _ProposalChecker:
    """Finds mistakes in proposed steps; keeps the plan through them, or the missing capabilities."""

    problem: Problem
    parts: tuple[str, ...]
    time_limit: float | None
    found: list[Landmark] = field(default_factory=list)
    result: Result | None = None
    missing: tuple[Missing, ...] = ()

    async def __call__(self, answer: Proposed) -> list[str]:
        """Return mistakes, or else the reasons why no plan goes through the steps."""
        self.found, self.result, self.missing = [], None, ()
        wrong = [*self._find_mistakes(answer)]
        found, mistakes = read_landmarks(self.problem, answer.parts)
        if wrong or mistakes:
            return [*wrong, *mistakes]
        if not found:
            return []
        result = await solve_in_thread(demand_landmarks(self.problem, found), time_limit=self.time_limit)
        if result.has_plan:
            self.found, self.result = found, result
            return []
        return await search_in_turn(lambda: self._explain_failure(found, result))

    def _find_mistakes(self, answer: Proposed) -> list[str]:
        told = [each.part for each in answer.parts]
        wrong = [f"{part!r} is none of the parts, word for word" for part in told if part not in self.parts]
        wrong += [f"{part!r} stands there more than once" for part in dict.fromkeys(told) if told.count(part) > 1]
        wrong += [f"nothing is said to {part!r}" for part in self.parts if part not in told]
        empty = [each.part for each in answer.parts if not (each.steps or each.lacking)]
        return wrong + [f"{part!r}: neither steps, nor what is lacking" for part in empty]

    def _explain_failure(self, found: Sequence[Landmark], result: Result) -> list[str]:
        """Return the reasons why no plan goes through all of `found`, and note missing capabilities."""
        said: list[str] = []
        for each in found:
            goal = replace(self.problem, goal=Goal(condition_before(self.problem, each)), constraints=(), budgets={})
            parts = find_unreachable_parts(replace(goal, deadline=None), Limits(SECONDS))
            lacks = tuple(list_missing(parts, self.problem.domain, (str(each), each.part)))
            self.missing += lacks
            said += [f"{each} can never be done: {'; '.join(map(str, lacks))}"] if parts else []
        return said or [f"no plan goes through these steps: {result.reason or result.status.value}"]
