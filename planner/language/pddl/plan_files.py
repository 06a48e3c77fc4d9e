"""Read and write plans in the competition's format: `(move r1 a b)` a line, `; cost = 5` at the end."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal

from planner.compilations.object_creation import for_steps
from planner.errors import InputError, Location, PlanError
from planner.language.pddl.legal_names import Names
from planner.language.pddl.syntax import pluralize, quote, suggest_nearest
from planner.lightweight import Final
from planner.model import Number, Problem
from planner.model.domain import creates_objects
from planner.model.problem import is_temporal
from planner.plan import Plan, Step, StepTime, exact, name_as_written
from planner.semantics.condition_solver import Universe
from planner.validation.validate import choose_versions


def write_number(value: Number) -> str:
    """Write `value` in full, without an exponent."""
    return format(value, "f") if isinstance(value, Decimal) else str(value)


class Lookup:
    """Finds names as plans write them: exactly, else in any case, else as `export` writes them.

    `written` maps each name to its exported form; messages call the names `kind`.
    """

    def __init__(self, written: Mapping[str, str], kind: str) -> None:
        self._kind = kind
        self._exact = written
        self._folded: dict[str, list[str]] = {}
        for name in written:
            self._folded.setdefault(name.lower(), []).append(name)
        for name, word in written.items():
            self._folded.setdefault(word, [name])

    def has(self, word: str) -> bool:
        """Return whether `word` is a name as it stands."""
        return word in self._exact

    def find(self, word: str, place: Location) -> str:
        """Return the name that `word` means; raise where there is none, or more than one."""
        if word in self._exact:
            return word
        found = self._folded.get(word.lower(), [])
        if len(found) == 1:
            return found[0]
        if found:
            choices = " or ".join(map(quote, found))
            raise PlanError(f"the {self._kind} {quote(word)} may be {choices}", place, "write it as it is declared")
        hint = suggest_nearest(word, self._exact) or "check that the plan belongs to this problem"
        raise PlanError(f"the problem has no {self._kind} {quote(word)}", place, hint)


Word = tuple[str, Location]
"""A word and its place."""


class StepReader:
    """Turns words into steps; `actions` and `objects` map names to their exported forms."""

    def __init__(self, problem: Problem, actions: Mapping[str, str], objects: Mapping[str, str]) -> None:
        self._problem = problem
        self._actions = Lookup(actions, "action")
        self._objects = Lookup(objects, "object")
        self._costs: dict[str, Callable[[tuple[str, ...]], Number]] = {}

    def read(self, words: Sequence[Word]) -> Step:
        """Make a step of `words`, at least one, with its exact cost.

        Raises `PlanError` where the problem has no such action or object, or the action another number of arguments.
        """
        name = self._actions.find(*words[0])
        place = words[0][1]
        action = self._problem.domain.actions[name]
        if len(words) - 1 != len(action.parameters):
            message = f"'{name}' has {pluralize(len(words) - 1, 'argument')} here, expected {len(action.parameters)}"
            raise PlanError(message, place, f"it is declared as {action.signature}")
        arguments = self.objects(words[1:])
        return Step(name, arguments, self._find_cost(name, arguments, place))

    def objects(self, words: Sequence[Word]) -> tuple[str, ...]:
        """Return the objects that `words` mean. Raises `PlanError` where there is none."""
        return tuple([self._objects.find(*word) for word in words])

    def _find_cost(self, name: str, arguments: tuple[str, ...], place: Location) -> Number:
        if name not in self._costs:
            from planner.grounding.action_tables import make_price

            self._costs[name] = make_price(self._problem.domain.actions[name], self._problem)
        try:
            return self._costs[name](arguments)
        except InputError as error:
            if not self._fits(name, arguments):
                return 0
            raise PlanError(error.message, place, error.hint) from None

    def _fits(self, name: str, arguments: tuple[str, ...]) -> bool:
        """Return whether `arguments` are of the types of the parameters; the plan is not valid where they are not."""
        universe = Universe(self._problem)
        parameters = self._problem.domain.actions[name].parameters
        pairs = zip(arguments, parameters, strict=True)
        return all(argument in universe.of_types(parameter.types) for argument, parameter in pairs)


_COMMENT: Final = re.compile(r";.*")
_LINE_END: Final = re.compile(r"\r\n|\r|\n")
_TIME: Final = re.compile(r"\s*(?:step\s+)?(\d+(?:\.\d*)?)\s*[:.)]", re.IGNORECASE)
_STEP: Final = re.compile(r"\s*\(([^()]*)\)\s*(?:\[([^\]]*)\]\s*)?")
_DURATION: Final = re.compile(r"\[[^\]]*\]\s*$")
_WORD: Final = re.compile(r"[^\s();]+")
_WRITTEN: Final = re.compile(r'[^\s();"]+')
"""A word that plans write as it is declared."""


def write_plan(plan: Plan) -> str:
    """Return `plan` as text; names that are no PDDL words are written as `export` writes them."""
    steps = name_as_written(plan.steps, plan.problem)
    legal = all(_WRITTEN.fullmatch(word) for step in steps for word in (step.action, *step.arguments))
    names = None if legal else Names.of(plan.problem)

    def write_words(step: Step) -> Iterator[str]:
        yield step.action if names is None or _WRITTEN.fullmatch(step.action) else names.actions[step.action]
        for name in step.arguments:
            yield name if names is None or _WRITTEN.fullmatch(name) else names.objects[name]

    lines = [f"({' '.join(write_words(step))})" for step in steps]
    if plan.times:
        timed = zip(lines, plan.times, strict=True)
        lines = [f"{write_time(time.start)}: {line} [{write_time(time.duration)}]" for line, time in timed]
        lines.append(f"; makespan = {write_time(plan.makespan or 0)}")
    return "\n".join([*lines, f"; cost = {write_number(plan.cost)}\n"])


def write_time(seconds: Number) -> str:
    """Return `seconds` as plans in time write them: with three decimals, or more where it has more."""
    exponent = Decimal(seconds).normalize().as_tuple().exponent
    return f"{Decimal(seconds):.{max(3, -exponent if isinstance(exponent, int) else 3)}f}"


def read_plan(text: str, problem: Problem, source: str = "<string>") -> Plan:
    """Read the plan for `problem` in `text`, with the exact cost of each step; the plan need not be valid.

    Case, comments and blank lines do not matter; nor do the times and durations that other planners print, unless the
    problem asks for a plan in time. Of several versions of an action, a step takes the applicable one. Raises
    `PlanError` for lines that are no steps, for actions and objects that the problem does not have, for wrong numbers
    of arguments, and for a plan in time of which only some steps have times.
    """
    lines = _COMMENT.sub("", text.removeprefix("\N{ZERO WIDTH NO-BREAK SPACE}")).splitlines()
    names = Names.of(problem)
    whole = problem
    if creates_objects(problem.domain):
        actions = Lookup(names.actions, "action")
        read = _Reader(source, lambda words: Step(actions.find(*words[0]), tuple([word for word, _ in words[1:]])))
        whole = for_steps(problem, read.all(lines))
        names = Names.of(whole)
    reader = _Reader(source, StepReader(whole, names.actions, names.objects).read)
    steps = tuple(reader.all(lines))
    if is_temporal(problem):
        from planner.validation.timed_replay import make_timed_plan

        return make_timed_plan(steps, reader.times, problem, Location(source))
    return Plan(choose_versions(steps, whole), problem)


class _Reader:
    """Reads lines; `read` makes steps of their words."""

    def __init__(self, source: str, read: Callable[[Sequence[Word]], Step]) -> None:
        self._source = source
        self._read = read
        self.times: list[StepTime | None] = []
        """The times of the steps so far; None where the text has none."""

    def all(self, lines: Iterable[str]) -> Iterator[Step]:
        """Yield the steps on `lines`."""
        for count, line in enumerate(lines, start=1):
            yield from self.steps(line, count)

    def steps(self, line: str, count: int) -> Iterator[Step]:
        """Yield the steps on `line`, which is number `count`."""
        time = _TIME.match(line)
        position = time.end() if time else 0
        while line[position:].strip():
            match = _STEP.match(line, position)
            if match is not None:
                self.times.append(_read_times(time, match[2]))
                yield self._read_step(match[1], count, match.start(1) + 1)
                position = match.end()
            elif time is not None and position == time.end() and "(" not in line:
                words = _DURATION.sub("", line[position:])
                self.times.append(None)
                yield self._read_step(words, count, position + 1)
                position = len(line)
            else:
                raise self._step_error(line, position, count)

    def _step_error(self, line: str, position: int, count: int) -> PlanError:
        column = position + len(line[position:]) - len(line[position:].lstrip()) + 1
        found = quote(line[position:].strip())
        before = re.match(r"\s*(-[\d.]+)\s*:", line)
        if before is not None:
            place = Location(self._source, count, before.start(1) + 1)
            return PlanError(f"a step starts at {before[1]}, before the plan begins", place, "times are 0 or more")
        is_open = "(" in line[position:]
        hint = "close the parenthesis on the same line" if is_open else "each line is one step in parentheses"
        place = Location(self._source, count, column)
        return PlanError(f"found {found}, expected a step such as '(move a b)'", place, hint)

    def _read_step(self, text: str, count: int, column: int) -> Step:
        place = Location(self._source, count, column)
        words = [(word[0], Location(self._source, count, column + word.start())) for word in _WORD.finditer(text)]
        if not words:
            raise PlanError("found an empty step, expected an action with its arguments", place, "name the action")
        return self._read(words)


def _read_times(time: re.Match[str] | None, duration: str | None) -> StepTime | None:
    """Return the time before a step and the duration after it; None where there is no time."""
    if time is None:
        return None
    words = (duration or "0").replace("D:", " ").replace(";", " ").split()
    try:
        return StepTime(exact(Decimal(time[1])), exact(Decimal(words[0])))
    except (ArithmeticError, IndexError):
        return StepTime(exact(Decimal(time[1])))
