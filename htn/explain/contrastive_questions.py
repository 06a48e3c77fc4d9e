"""Contrastive questions about tasks: besides those about steps and facts, which methods do which tasks.

    by method m-plane          a decomposition that uses the method; `m-plane` alone, if nothing else has this name
    m-plane(box, _)            with these objects for its parameters
    deliver(box, _)            a decomposition in which the task is done
    deliver(box) by m-plane    one in which it is done by this method
    without m-plane            one that never uses it

Orders are asked for between steps: tasks may overlap.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice

from htn.compilations.htn_foils import MethodFoil, NodePattern
from htn.model import HtnProblem
from planner.compilations.foils import Foil, FoilKind
from planner.errors import InputError, did_you_mean
from planner.explain.contrastive_questions import QuestionReader, strip_filler
from planner.lightweight import Final
from planner.model import Atom, Variable
from planner.plan import Step
from planner.questions.notation import read_pattern

_KIND: Final = re.compile(r"(method|task)s?\s+", re.IGNORECASE)
_DONE_BY: Final = re.compile(r"(.+?)\s+by\s+(?:the\s+)?(?:methods?\s+)?(.+)\Z", re.IGNORECASE | re.DOTALL)
_OR: Final = re.compile(r"\s+or\s+", re.IGNORECASE)
_NAME: Final = re.compile(r"[^\s(),]+")


class HtnQuestionReader(QuestionReader):
    """Reads questions about a resolved problem with tasks, and the `steps` of its plan."""

    def __init__(self, problem: HtnProblem, steps: Sequence[Step] | None) -> None:
        super().__init__(problem.classical, steps)
        self._classical = problem.classical
        self._tasks = {name: [name] for name in problem.domain.tasks}
        self._methods: dict[str, list[str]] = {}
        written = problem.domain.spelling.methods
        for name in problem.domain.methods:
            for each in dict.fromkeys([name, self._fold(written.get(name, name))]):
                self._methods.setdefault(each, []).append(name)
        parameters = {name: each.parameters for name, each in problem.domain.tasks.items()}
        of_methods = {name: each.parameters for name, each in problem.domain.methods.items()}
        self._parameters_of = {"task": parameters, "method": of_methods}

    def other_names(self) -> Sequence[tuple[str, Iterable[str]]]:
        """Return the names of tasks and methods."""
        return ("task", self._tasks), ("method", self._methods)

    def list_demands(self) -> Iterator[str]:
        """Yield questions for other plans of this problem, about its methods as well."""
        yield from super().list_demands()
        yield from (f"by method {self.spell_name(name)}" for name in islice(self._methods, 1))

    def read_other(self, text: str, *, avoid: bool) -> Foil | None:
        """Return the demand to use or avoid methods and tasks, if `text` names one of these."""
        mentions = [self._read_node(each) for each in _OR.split(text)]
        found = [each for each in mentions if each is not None]
        if not found:
            return None
        if len(found) < len(mentions):
            raise InputError("'or' joins steps, or methods and tasks, not both", hint="ask two questions")
        patterns = tuple([pattern for _, patterns in found for pattern in patterns])
        text = " or ".join([text for text, _ in found])
        return MethodFoil(FoilKind.AVOID if avoid else FoilKind.USE, text, patterns)

    def _read_node(self, text: str) -> tuple[str, list[NodePattern]] | None:
        """Return the words and the patterns for one method or task; None where `text` begins with another name."""
        body = strip_filler(text)
        kind = _KIND.match(body)
        if kind is not None:
            return self._read_kind(kind[1].lower(), body[kind.end() :])
        if self.names_step(body):
            return None
        name = self._first_name(body)
        if name in self._tasks:
            return self._read_kind("task", body)
        return self._read_kind("method", body) if name in self._methods else None

    def _read_kind(self, kind: str, text: str) -> tuple[str, list[NodePattern]]:
        if kind == "method":
            methods = self._read_patterns("method", text, self._methods)
            return str(_spell(text, methods)), [NodePattern(method=each) for each in methods]
        by = _DONE_BY.match(text)
        (task,) = self._read_patterns("task", text if by is None else by[1], self._tasks)
        if by is None:
            return str(task), [NodePattern(task)]
        methods = self._read_patterns("method", by[2], self._methods)
        return f"{task} by {_spell(by[2], methods)}", [NodePattern(task, each) for each in methods]

    def _read_patterns(self, kind: str, text: str, named: Mapping[str, Sequence[str]]) -> list[Atom]:
        """Return the pattern for each method of one name in a file, or for the one task."""
        name = self._first_name(text)
        parameters: Mapping[str, tuple[Variable, ...]] = self._parameters_of[kind]
        models = named.get(name)
        if models is None:
            hint = did_you_mean(name, named) or f"there are {', '.join(named)}"
            raise InputError(f"the problem has no {kind} '{name}'", hint=hint)
        found, wrong = list[Atom](), list[InputError]()
        for each in models:
            given = text.strip().replace(_NAME.findall(text)[0], each, 1)
            try:
                found.append(read_pattern(self._classical, given, kind, parameters))
            except InputError as error:
                wrong.append(error)
        if not found:
            raise wrong[0]
        return found

    def unknown(self, name: str, *kinds: tuple[str, Iterable[str]]) -> InputError:
        """Return the error for a name that none of these kinds of things has."""
        if name in self._tasks or name in self._methods:
            what = "task" if name in self._tasks else "method"
            message = f"'{name}' is a {what}, and orders are asked for between steps"
            steps = next((each for each in self.list_demands() if " before " in each), None)
            return InputError(message, hint="name the steps" + ("" if steps is None else f", such as '{steps}'"))
        return super().unknown(name, *kinds)

    def _first_name(self, text: str) -> str:
        found = _NAME.search(text)
        return self._fold(found[0]) if found else ""

    def _fold(self, name: str) -> str:
        return name.lower() if self._classical.domain.spelling is not None else name


def _spell(text: str, methods: Sequence[Atom]) -> str:
    """Return the words for methods: the name alone where all of their parameters are open."""
    return _NAME.findall(text)[0] if "(" not in text else str(Atom(_NAME.findall(text)[0], methods[0].args))
