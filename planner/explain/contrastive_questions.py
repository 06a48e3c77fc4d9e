"""Contrastive questions in the words of people: "why not by truck1", "why load before drive", "what if not door(a, b)".

    by truck1            a plan with a step of this action, with this object, or that `drive(truck1, _, _)` covers
    without step 3       a plan without this step; so for actions, objects, types and patterns
    drive before load    a plan in which a `drive` comes before the first `load`
    never at(r2, hall)   a plan on whose way the fact never holds; `through at(r2, hall)`: at least once
    cheaper              a plan that costs less
    if not door(a, b)    another problem: a fact, a number, a budget, a deadline, a goal, or steps

A question that begins with "why" and has no "not" is about what the plan does: "why by truck1" asks for a plan without
it, and "why load before drive" for one with the other order.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from planner.compilations.budgets import with_budgets
from planner.compilations.foils import ConstraintFoil, Foil, FoilKind, Intervention, StepFoil, StepSet
from planner.errors import InputError, UnsupportedError, did_you_mean
from planner.lightweight import Final, dataclass, replace
from planner.model import COST, Atom, Constraint, ConstraintKind, Problem, TypeHierarchy, Variable
from planner.model.actions import Action
from planner.model.domain import resources_of
from planner.model.formulas import OPEN, Formula, Not, Number, conjunction, conjuncts, exact_number
from planner.model.problem import Goal
from planner.model.timing import GoalDeadline
from planner.plan import Step
from planner.questions.notation import read_fact, read_function, read_step_pattern, spell


@dataclass(frozen=True, slots=True)
class Question:
    """A question about a plan or a problem: `text` says what is asked for, and `foils` are the demands.

    Without foils the question is why there is no plan that costs less. `order` has the places (from 1) of two steps of
    the plan, whose order is asked about.
    """

    text: str
    foils: tuple[Foil, ...] = ()
    order: tuple[int, int] | None = None

    @property
    def restricts(self) -> bool:
        """Whether all that the question asks for are plans of the problem as it is."""
        return all(each.restricts for each in self.foils)


_WHY: Final = re.compile(r"\s*why\b\s*(not\b)?\s*", re.IGNORECASE)
_IF: Final = re.compile(r"(?:\s*(?:what\s+)?if\b)+\s*", re.IGNORECASE)
_CHEAPER: Final = re.compile(r"(?:not\s+)?(?:cheaper|less|better|faster|sooner|shorter|earlier)\Z", re.IGNORECASE)
_ORDER: Final = re.compile(r"(.+?)\s+(before|after)\s+(.+)\Z", re.IGNORECASE | re.DOTALL)
_NEGATIVE: Final = re.compile(r"(?:without|no|not|avoid|never)\b\s+", re.IGNORECASE)
_FILLER: Final = re.compile(
    r"\A(?:(?:by|with|using|via|use|through|doing|taking|the|an?|action|object|is|there|are|we|it|steps?)\b\s+)+",
    re.IGNORECASE,
)
_THROUGH: Final = re.compile(r"(?:through|sometime)\b\s+", re.IGNORECASE)
_AND: Final = re.compile(r"\s+and\s+|\s*;\s*", re.IGNORECASE)
_OR: Final = re.compile(r"\s+or\s+", re.IGNORECASE)
_NUMBER: Final = re.compile(r"(?:step\s+)?(\d+)\Z", re.IGNORECASE)
_WERE: Final = re.compile(r"(.+?)\s+(?:were|was|is|had been)\s+(true|false|gone|there)\Z", re.IGNORECASE | re.DOTALL)
_AMOUNT: Final = re.compile(r"(.+?)\s*(<=|=|:=)\s*(-?[\d.]+(?:e[+-]?\d+)?)\Z", re.IGNORECASE | re.DOTALL)
_BY: Final = re.compile(r"(.+\S)\s+by\s+([\d.]+)\Z", re.IGNORECASE | re.DOTALL)
_FALSE: Final = ("false", "gone")


def read_question(problem: Problem, text: str, steps: Sequence[Step] | None = None) -> Question:
    """Read a question about the resolved `problem` and the `steps` of its plan, to which numbers refer.

    Raises `InputError` for unknown names and what is no question.
    """
    return QuestionReader(problem, steps).read(text)


def needs_plan(text: str) -> bool:
    """Return whether the question `text` names steps by their numbers, or asks about the order of the plan."""
    plain = _strip(text)
    if _IF.match(plain):
        return False
    order = _ORDER.match(plain)
    parts = [order[1], order[3]] if order else re.split(f"{_AND.pattern}|{_OR.pattern}", plain)
    return any(_NUMBER.search(each) is not None for each in parts)


def _strip(text: str) -> str:
    return _WHY.sub("", text.strip().rstrip("?").rstrip(), count=1)


class QuestionReader:
    """Reads questions about a resolved problem and the `steps` of its plan; other kinds of problems have more names."""

    def __init__(self, problem: Problem, steps: Sequence[Step] | None) -> None:
        self._problem = problem
        self._steps = steps
        self._hierarchy = TypeHierarchy(problem.domain.types)
        self._objects = {item.name: item for item in problem.all_objects}
        self._versions: dict[str, list[str]] = {}
        for name in problem.domain.actions:
            self._versions.setdefault(problem.domain.versions.get(name, name), []).append(name)

    def read(self, text: str) -> Question:
        """Return the question."""
        why = _WHY.match(text)
        asked = _strip(text)
        if not asked:
            raise InputError("found no question", hint=f"ask for what the plan does not do: {self._join_examples()}")
        if _CHEAPER.match(asked):
            return Question("cheaper")
        if found := _IF.match(asked):
            foils = [self._read_change(_IF.sub("", each, count=1)) for each in _AND.split(asked[found.end() :])]
            return _make_question(foils)
        about_plan = why is not None and not why[1]
        if found := _ORDER.match(asked):
            return self._read_order(found[1], found[3], flipped=about_plan is (found[2].lower() == "before"))
        return _make_question([self._read_demand(each, flipped=about_plan) for each in _AND.split(asked)])

    def _read_order(self, first: str, second: str, *, flipped: bool) -> Question:
        """Return the question for a plan with `first` before `second`; `flipped`: the other way round."""
        one, other = (second, first) if flipped else (first, second)
        earlier, later = self._read_steps(one), self._read_steps(other)
        foil = StepFoil(FoilKind.BEFORE, earlier, later)
        now_first, now_second = self._find_place(other, later), self._find_place(one, earlier)
        if now_first is None or now_second is None or now_first > now_second:
            return Question(str(foil), (foil,))
        return Question(str(foil), (foil,), (now_first, now_second))

    def _find_place(self, text: str, steps: StepSet) -> int | None:
        """Return the place, from 1, of the step of the plan that is named, or of the first one that `steps` covers."""
        number = _NUMBER.match(_FILLER.sub("", text.strip(), count=1))
        if number is not None:
            return int(number[1])
        return next((place for place, each in enumerate(self._steps or (), start=1) if steps.covers(each)), None)

    def _read_demand(self, text: str, *, flipped: bool) -> Foil:
        """Return the demand for a plan that uses, or avoids, what `text` names."""
        text = text.strip()
        through = _THROUGH.match(text)
        negative = _NEGATIVE.match(text)
        body = text[negative.end() :] if negative else text
        avoid = flipped is not (negative is not None)
        other = self.read_other(body, avoid=avoid)
        if other is not None:
            return other
        name = self._name_of(_THROUGH.sub("", body, count=1))
        if name in self._problem.domain.predicates and name not in self._versions:
            fact = read_fact(self._problem, _THROUGH.sub("", body, count=1))
            kind = ConstraintKind.AT_MOST if avoid else ConstraintKind.SOMETIME
            return ConstraintFoil(Constraint(kind, fact, times=0 if avoid else 1))
        if through and not negative and name not in self._versions and name not in self._objects:
            raise self.unknown(name, ("predicate", self._problem.domain.predicates))
        return StepFoil(FoilKind.AVOID if avoid else FoilKind.USE, self._read_steps(body))

    def other_names(self) -> Sequence[tuple[str, Iterable[str]]]:
        """Return the kinds of things, with their names, that a problem of another kind has besides."""
        return ()

    def read_other(self, text: str, *, avoid: bool) -> Foil | None:  # noqa: ARG002 - other kinds read them
        """Return the demand to use, or avoid, what `text` names, if that is no action, object, type or fact."""
        return None

    def names_step(self, text: str) -> bool:
        """Return whether the first word of `text` is an action, an object, a type or a fact."""
        name = self._name_of(text)
        known = (self._versions, self._objects, self._problem.domain.types, self._problem.domain.predicates)
        return any(name in names for names in known) or _NUMBER.match(text) is not None

    def _read_steps(self, text: str) -> StepSet:
        """Return the steps that `text` names: by numbers, patterns, actions, objects or types, with "or" between."""
        found = [self._read_mention(each) for each in _OR.split(text.strip())]
        patterns = dict.fromkeys(pattern for each in found for pattern in each.patterns)
        return StepSet(" or ".join([each.text for each in found]), tuple(patterns))

    def _read_mention(self, text: str) -> StepSet:
        body = strip_filler(text)
        if number := _NUMBER.match(body):
            return self._read_number(int(number[1]))
        name = self._name_of(body)
        is_bare = "(" not in body
        if is_bare and name in self._objects and name not in self._versions:
            return StepSet(name, tuple(self._patterns_with([name])))
        if is_bare and name in self._hierarchy_names and name not in self._versions:
            return StepSet(f"a {name}", tuple(self._patterns_of_type(name)))
        if name not in self._versions:
            raise self.unknown(name, ("action", self._versions), ("object", self._objects))
        patterns = self._read_versions(name, body)
        return StepSet(str(Atom(name, patterns[0].args)), tuple(patterns))

    def _read_versions(self, name: str, body: str) -> list[Atom]:
        """Return the pattern `body` for each version of the action `name`."""
        found: list[Atom] = []
        for version in self._versions[name]:
            given = body.replace(body.lstrip("( ").split("(")[0].split()[0], version, 1)
            found.append(read_step_pattern(self._problem, given))
        return found

    def _read_number(self, number: int) -> StepSet:
        if self._steps is None:
            raise InputError(f"step {number} is one of a plan, and there is none", hint="name the step itself")
        if not 1 <= number <= len(self._steps):
            hint = f"its steps have the numbers 1 to {len(self._steps)}" if self._steps else "it has no steps"
            raise InputError(f"the plan has no step {number}", hint=hint)
        step = self._steps[number - 1]
        name = self._problem.domain.versions.get(step.action, step.action)
        patterns = [Atom(version, step.arguments) for version in self._versions.get(name, [step.action])]
        return StepSet(str(replace(step, action=name)), tuple(patterns))

    @property
    def _hierarchy_names(self) -> Sequence[str]:
        return [*self._problem.domain.types]

    def _name_of(self, text: str) -> str:
        """Return the first name in `text`, in lower case where the problem is in PDDL."""
        words = re.split(r"[\s(,]+", text.strip().lstrip("( "))
        name = words[0].rstrip(")") if words else ""
        return name.lower() if self._problem.domain.spelling is not None else name

    def _patterns_with(self, names: Sequence[str]) -> Iterator[Atom]:
        """Yield patterns of the steps that have one of the objects `names` as an argument."""
        for name in names:
            for action, place in self._places():
                if self._hierarchy.is_a(self._objects[name].types, action.parameters[place].types):
                    yield _open_pattern(action, place, name)

    def _patterns_of_type(self, name: str) -> Iterator[Atom]:
        """Yield patterns of the steps that have an object of the type `name` as an argument."""
        members = [item.name for item in self._objects.values() if self._hierarchy.is_a(item.types, (name,))]
        for action, place in self._places():
            types = action.parameters[place].types
            if all(self._hierarchy.is_a((each,), (name,)) for each in types):
                yield _open_pattern(action, place, OPEN)
            else:
                fitting = [each for each in members if self._hierarchy.is_a(self._objects[each].types, types)]
                yield from (_open_pattern(action, place, each) for each in fitting)

    def _places(self) -> Iterator[tuple[Action, int]]:
        for action in self._problem.domain.actions.values():
            yield from ((action, place) for place in range(len(action.parameters)))

    def unknown(self, name: str, *kinds: tuple[str, Iterable[str]]) -> InputError:
        """Return the error for a name that none of these kinds of things has."""
        kinds = (*kinds, *self.other_names())
        names = [each for _, known in kinds for each in known]
        what = " or ".join([kind for kind, _ in kinds])
        hint = did_you_mean(name, names) or f"ask such as {self._join_examples()}"
        return InputError(f"the problem has no {what} '{name}'", hint=hint)

    def _join_examples(self, *, of_changes: bool = False) -> str:
        """Return questions that can be asked about this problem, each in quotes; `of_changes`: with "if" only."""
        found = [*([] if of_changes else self.list_demands()), *self._list_changes()]
        return ", ".join([f"'{each}'" for each in found])

    def list_demands(self) -> Iterator[str]:
        """Yield questions for other plans of this problem."""
        fitting = (name for name in self._objects if not _NUMBER.match(name) and any(self._patterns_with([name])))
        yield from (f"by {self.spell_name(name)}" for name in islice(fitting, 1))
        actions = [self.spell_name(name) for name in islice(self._versions, 2)]
        yield from (f"without {name}" for name in actions[:1])
        if self._steps:
            yield "without step 1"
        if len(actions) > 1:
            yield " before ".join(actions)
        yield "cheaper"

    def _list_changes(self) -> Iterator[str]:
        """Yield questions about other problems."""
        problem = self._problem
        kept = (each for each in problem.initial if not any(pattern.matches(each) for pattern in problem.unknown))
        yield from (f"if not {spell(problem, fact)}" for fact in islice(kept, 1))
        values = islice(problem.values.items(), 1)
        yield from (f"if {spell(problem, function)} = {value + 1}" for function, value in values)
        yield from (f"if no {self.spell_name(name)}" for name in islice(self._versions, 1))

    def spell_name(self, name: str) -> str:
        """Return a name of the problem as its file writes it."""
        spelling = self._problem.domain.spelling
        return name if spelling is None else spelling.word(name)

    def _read_change(self, text: str) -> Foil:
        """Return the change of the problem that a clause after "if" asks for."""
        text, holds = text.strip(), True
        if were := _WERE.match(text):
            text, holds = were[1].strip(), were[2].lower() not in _FALSE
        text = strip_filler(text)
        while negative := _NEGATIVE.match(text):
            text, holds = strip_filler(text[negative.end() :]), not holds
        if not text:
            raise InputError("found no change", hint=f"ask such as {self._join_examples(of_changes=True)}")
        if amount := _AMOUNT.match(text):
            return self._read_amount(amount[1].strip(), amount[2], _read_number(amount[3]))
        if text.lower() == "deadline" and not holds:
            return Intervention("no deadline", lambda problem: replace(problem, deadline=None, due=()))
        if text.lower().startswith("goal "):
            return self._read_goal(text[5:].strip(), holds=holds)
        if due := _BY.match(text):
            return self._read_due(due[1], _read_number(due[2]))
        name = self._name_of(text)
        if name in self._problem.domain.predicates:
            return self._read_fact(text, holds=holds)
        if name in self._versions or name in self._objects or name in self._hierarchy_names:
            return StepFoil(FoilKind.USE if holds else FoilKind.AVOID, self._read_steps(text))
        known = self._problem.domain.predicates
        other = self.read_other(text, avoid=not holds)
        if other is not None:
            return other
        found = self.unknown(name, ("fact", known), ("action", self._versions), ("object", self._objects))
        if "did you mean" not in (found.hint or ""):
            found = InputError(found.message, hint=f"ask such as {self._join_examples(of_changes=True)}")
        raise found

    def _read_fact(self, text: str, *, holds: bool) -> Intervention:
        fact = read_fact(self._problem, text)
        if fact.predicate in self._problem.domain.derived:
            raise InputError(f"{fact} is derived", hint="change the facts that it follows from")
        if any(pattern.matches(fact) for pattern in self._problem.unknown):
            raise UnsupportedError(f"a change of {fact}, which is unknown", "state in the problem whether it holds")
        if not holds:
            return Intervention(
                f"not {fact}",
                lambda problem: replace(problem, initial=tuple([each for each in problem.initial if each != fact])),
            )
        rivals = _find_rivals(self._problem, fact)
        instead = f" instead of {', '.join(map(str, rivals))}" if rivals else ""

        def add(problem: Problem) -> Problem:
            kept = [each for each in problem.initial if each not in (fact, *rivals)]
            return replace(problem, initial=(*kept, fact))

        return Intervention(f"{fact}{instead}", add)

    def _read_goal(self, text: str, *, holds: bool) -> Intervention:
        """Return the change of the goal by a fact, or by "not" and a fact, which is asked for, or no longer."""
        negative = _NEGATIVE.match(text)
        fact = read_fact(self._problem, text[negative.end() :] if negative else text)
        wanted: Formula = Not(fact) if negative else fact
        parts = [*conjuncts(self._problem.goal.hard)]
        if not holds and wanted not in parts:
            raise InputError(f"{wanted} is no part of the goal", hint=f"it has {', '.join(map(str, parts))}")

        def change(problem: Problem) -> Problem:
            kept = [part for part in conjuncts(problem.goal.hard) if part not in (fact, Not(fact))]
            hard = conjunction([*kept, wanted] if holds else kept)
            return replace(problem, goal=Goal(hard, problem.goal.soft))

        return Intervention(f"{'' if holds else 'no '}goal {wanted}", change)

    def _read_due(self, text: str, by: Number) -> Intervention:
        fact = read_fact(self._problem, text)

        def change(problem: Problem) -> Problem:
            others = [each for each in problem.due if each.condition != fact]
            return replace(problem, due=(*others, GoalDeadline(fact, by)))

        return Intervention(f"{fact} by {by}", change)

    def _read_amount(self, name: str, sign: str, amount: Number) -> Intervention:
        """Return the change of a number: a deadline, a budget, a capacity, or the value of a function."""
        problem, plain = self._problem, name.lower()
        if plain == "deadline":
            return Intervention(f"deadline {amount}", lambda found: replace(found, deadline=amount))
        if name == COST or name in resources_of(problem.domain):
            return Intervention(f"{name} <= {amount}", lambda found: with_budgets(found, {name: amount}))
        if name in problem.capacity:
            return Intervention(
                f"{name} = {amount}", lambda found: replace(found, capacity={**found.capacity, name: amount})
            )
        if "(" not in name and self._name_of(name) not in problem.domain.functions:
            raise self._unknown_number(name)
        function = read_function(problem, name)
        if sign == "<=":
            hint = f"ask 'if {spell(problem, function)} = {amount}'"
            raise InputError(f"{function} has one value, and '<=' gives none", hint=hint)
        return Intervention(
            f"{function} = {amount}", lambda found: replace(found, values={**found.values, function: amount})
        )

    def _unknown_number(self, name: str) -> InputError:
        """Return the error for a name that no number has."""
        problem = self._problem
        plain = ["deadline", COST, *resources_of(problem.domain), *problem.capacity]
        functions = problem.domain.functions
        patterns = [Atom(each, _names_of(declared.parameters)) for each, declared in functions.items()]
        shown = ", ".join([*plain, *[spell(problem, each) for each in patterns]])
        hint = did_you_mean(name, [*plain, *functions]) or f"numbers are those of {shown}"
        return InputError(f"the problem has no number '{name}'", hint=hint)


def strip_filler(text: str) -> str:
    """Return `text` without words such as "by" and "with the" at its beginning."""
    return _FILLER.sub("", text.strip(), count=1) or text.strip()


def _names_of(parameters: Iterable[Variable]) -> tuple[str, ...]:
    return tuple([each.name.lstrip("?") for each in parameters])


def _make_question(foils: Sequence[Foil]) -> Question:
    return Question(" and ".join(map(str, foils)), tuple(foils))


def _read_number(text: str) -> Number:
    try:
        return exact_number(text)
    except ValueError as error:
        raise InputError(f"{text!r} is no number: {error}") from None


def _open_pattern(action: Action, place: int, name: str) -> Atom:
    """Return the pattern of `action` with `name` at one place, and all else open."""
    return Atom(action.name, tuple([name if each == place else OPEN for each in range(len(action.parameters))]))


def _find_rivals(problem: Problem, fact: Atom) -> list[Atom]:
    """Return the initial facts that are other values of the same item as `fact`, such as the place of a robot."""
    from planner.compilations.normal_form import normalise
    from planner.explain.comparison_facts import compile_comparisons
    from planner.explain.excuses import Items
    from planner.model.problem import is_numeric, is_temporal

    if is_temporal(problem):
        from planner.compilations.sequential_steps import compile_sequential

        problem = compile_sequential(problem)
    if is_numeric(problem):
        problem = compile_comparisons(problem).problem
    items = Items(normalise(replace(problem, constraints=())))
    found = items.rivals([fact], problem.initial, one_predicate=True)[fact]
    return [each for each in found if each in problem.initial]
