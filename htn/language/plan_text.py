"""Reads and writes hierarchical plans: in the format of the competition of 2020, as bare steps, and in JSON.

    ==>
    0 drive t a b
    root 1
    1 get t b -> go 0
    <==

The numbered steps come first; then the numbers of the initial tasks; then a line for each compound task: its number,
the task, the method, and the numbers of the subtasks. Subtasks and initial tasks come in a linearisation of the
network's ordering: the competition's verifier rejects any other order.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from htn.compilations.htn_reductions import add_placeholders_of_steps
from htn.language.hddl.hddl_writer import HtnNames
from htn.model import Decomposition, HtnProblem, Network, Node
from htn.verification.child_order import arrange_children
from planner.errors import Location, PlanError
from planner.grounding.action_tables import make_price
from planner.language.pddl.plan_files import Lookup, StepReader, Word, write_time
from planner.language.pddl.plan_files import read_plan as read_steps
from planner.language.pddl.syntax import pluralize, quote
from planner.lightweight import Any, Final, dataclass, field, replace
from planner.model import Atom, Problem, is_temporal
from planner.model.domain import creates_objects
from planner.plan import Plan, Step
from planner.plan_json import is_json, read_json, read_json_data
from planner.validation.validate import choose_versions

_WORD: Final = re.compile(r"[^\s()\[\],;]+")
_NUMBER: Final = re.compile(r"[+-]?\d+")
_LONGEST: Final = 100
"""Maximum number of digits of a task number: Python refuses to read numbers of several thousand digits."""
_TOP: Final = "__top"
"""The verifier's name for a task whose subtasks are those of the initial network."""
_TOP_TASK: Final = Atom(_TOP)

_START: Final = "==>"
_END: Final = "<=="
_ROOT: Final = "root"
_ARROW: Final = "->"


def has_decomposition(text: str) -> bool:
    """Return whether `text` has the line `==>`, with which plans in this format begin."""
    return any(_is_start(line) for line in text.splitlines())


def _is_start(line: str) -> bool:
    """Return whether the plan begins on `line`; elsewhere on a line, `==>` is a name."""
    return _START in line and line.split(maxsplit=1)[0] == _START


def write_plan(plan: Plan) -> str:
    """Write `plan`, which has a decomposition, as text, without bindings, for which the format has no place.

    Names are spelled as in the files that declare them. Names that are not HDDL words are spelled as in the files that
    we write. The times of a plan in time come before the rest, as comments, which readers of the format pass over.
    Raises `PlanError` for a plan without decomposition.
    """
    tree: Decomposition | None = plan.tree
    if tree is None:
        raise PlanError(
            "the plan has no decomposition", hint="`planner.language.pddl.plan_files.write_plan` writes steps alone"
        )
    writer = _Writer(plan.problem)
    numbers = _number_nodes(tree, len(plan.steps))
    steps = [writer.task(step.action, step.arguments) for step in plan.steps]
    timed = zip(steps, plan.times, strict=True) if plan.times else ()
    lines = [f"; {write_time(time.start)}: ({step}) [{write_time(time.duration)}]" for step, time in timed]
    lines += [f"; makespan = {write_time(plan.makespan or 0)}"] if plan.times else []
    lines.append(_START)
    lines += [f"{number} {step}" for number, step in enumerate(steps)]
    lines.append(_write_line(_ROOT, writer.in_order(tree.roots, plan.problem.network), numbers))
    for place, node in enumerate(tree.nodes):
        if node.step is None:
            task = writer.task(node.task.predicate, node.task.args)
            children = writer.in_order(node.children, plan.problem.domain.methods[node.method].network)
            lines.append(
                _write_line(f"{numbers[place]} {task} {_ARROW} {writer.method(node.method)}", children, numbers)
            )
    return "\n".join([*lines, _END]) + "\n"


def _number_nodes(tree: Decomposition, steps: int) -> list[int]:
    """Return the number of each node: the place of a step, and numbers after all steps for compound tasks."""
    free = iter(range(steps, steps + len(tree.nodes)))
    return [next(free) if node.step is None else node.step for node in tree.nodes]


def _write_line(start: str, places: tuple[int, ...], numbers: list[int]) -> str:
    return " ".join([start, *(str(numbers[place]) for place in places)])


@dataclass(slots=True)
class _Writer:
    """Spells the names of a problem in plans."""

    problem: HtnProblem
    names: HtnNames | None = None
    written: dict[tuple[str, tuple[str, ...]], str] = field(default_factory=dict)
    orders: dict[int, tuple[int, ...]] = field(default_factory=dict)
    """The linearisation of each network, by its identity."""

    def in_order(self, children: tuple[int, ...], network: Network) -> tuple[int, ...]:
        """Return the `children` of a task in a linearisation of its `network`.

        Children that do not fit the network, as in an invalid plan, keep their order.
        """
        key = id(network)
        if key not in self.orders:
            self.orders[key] = network.linearisation
        order = self.orders[key]
        return tuple([children[place] for place in order]) if len(order) == len(children) else children

    def task(self, name: str, arguments: tuple[str, ...]) -> str:
        found = self.written.get((name, arguments))
        if found is None:
            words = [self._word(name, "heads"), *(self._word(each, "objects") for each in arguments)]
            found = self.written[name, arguments] = " ".join(words)
        return found

    def method(self, name: str) -> str:
        return self._word(name, "methods")

    def _word(self, name: str, kind: str) -> str:
        for spelling in (self.problem.spelling, self.problem.domain.spelling):
            spelled = getattr(spelling, kind).get(name)
            if spelled is not None:
                return str(spelled)
        if _WORD.fullmatch(name) and name != _ARROW and '"' not in name:
            return name
        self.names = self.names or HtnNames.of(self.problem.domain, self.problem)
        table = self.names.classical.objects if kind == "objects" else getattr(self.names, kind)
        return str(table[name])


def read_plan(text: str, problem: HtnProblem, source: str = "<string>") -> Plan:
    """Read the plan for `problem` in `text`, with its decomposition; each step has its exact cost.

    The reader ignores text before the (last) `==>` and after `<==`, letter case, parentheses and comments. Subtasks may
    be in any linearisation of their ordering. Without a line `root`, the plan has no decomposition. Raises `PlanError`
    for malformed plans, and for tasks, methods and objects that the problem does not have. Bindings stay open:
    `htn.verification.plan_verification` finds them, and decides whether the plan is valid.
    """
    reader = _Reader(problem, source)
    if creates_objects(problem.classical.domain):
        reader = _Reader(add_placeholders_of_steps(problem, reader.as_written(text)), source)
    reader.read(text)
    steps = _choose_versions(reader.steps, reader.problem.classical)
    if reader.roots is None:
        return Plan(steps, problem)
    return replace(arrange_children(reader.problem, Plan(steps, problem, reader.tree())), problem=problem)


@dataclass(frozen=True, slots=True, eq=False)
class _Line:
    """A line of a plan, from `start` on, in words; it looks up their places on demand."""

    source: str
    number: int
    text: str
    start: int
    words: list[str]

    def place(self, word: int) -> Location:
        """Return the place of the word with this number."""
        return self.locate(word, word + 1)[0][1]

    def locate(self, first: int, last: int | None = None) -> list[Word]:
        """Return words, each with its place."""
        found = islice(_WORD.finditer(self.text, self.start, _comment_start(self.text, self.start)), first, last)
        return [(each[0], Location(self.source, self.number, each.start() + 1)) for each in found]


@dataclass(frozen=True, slots=True, eq=False)
class _Entry:
    """A task with a number; the numbers of its children are the words of `line` from `first` on."""

    task: Atom
    step: int | None = None
    method: str = ""
    line: _Line | None = None
    first: int = 0


@dataclass(slots=True)
class _Reader:
    problem: HtnProblem
    source: str
    steps: list[Step] = field(default_factory=list)
    roots: _Line | None = None
    _entries: dict[int, _Entry] = field(default_factory=dict)
    _known_steps: dict[tuple[str, ...], Step] = field(default_factory=dict)
    _known_tasks: dict[tuple[str, ...], Atom] = field(default_factory=dict)
    _steps: StepReader = field(init=False)
    _actions: Lookup = field(init=False)
    _tasks: Lookup = field(init=False)
    _methods: Lookup = field(init=False)
    _namesakes: dict[tuple[str, str], str] = field(init=False)
    """Methods that the file calls by the name of another task's, by this name and their task."""

    def __post_init__(self) -> None:
        names = HtnNames.of(self.problem.domain, self.problem)
        tasks: Mapping[str, str] = {name: names.heads[name] for name in self.problem.domain.tasks}
        self._steps = StepReader(self.problem.classical, names.classical.actions, names.classical.objects)
        self._actions = Lookup(names.classical.actions, "action")
        self._tasks = Lookup(tasks, "compound task")
        self._methods = Lookup(names.methods, "method")
        methods = self.problem.domain.methods
        self._namesakes = {
            (written.lower(), methods[name].task.predicate): name
            for name, written in self.problem.domain.spelling.methods.items()
            if written.lower() != name and name in methods
        }

    def read(self, text: str) -> None:
        """Take in all lines."""
        for line in self._plan_lines(text):
            if line.words[0].lower() == _ROOT and self.roots is None:
                self.roots = line
            elif self.roots is None:
                self._read_step_line(line)
            else:
                self._read_task_line(line)

    def as_written(self, text: str) -> Iterator[Step]:
        """Yield the steps with their written arguments, whether or not such objects exist."""
        for line in self._plan_lines(text):
            if line.words[0].lower() == _ROOT:
                return
            if len(line.words) > 1:
                yield Step(self._actions.find(line.words[1], line.place(1)), tuple(line.words[2:]))

    def tree(self) -> Decomposition:
        """Return the decomposition; the place of a node is the place of its line among all numbered lines."""
        places = {number: place for place, number in enumerate(self._entries)}
        entries = list(self._entries.values())
        roots = self._read_places(self.roots, 1, places)
        if len(roots) == 1 and entries[roots[0]].task is _TOP_TASK:
            (top,) = roots
            entry = entries.pop(top)
            children = self._read_places(entry.line, entry.first, places)
            places = {number: place - (place > top) for number, place in places.items() if place != top}
            roots = tuple([place - (place > top) for place in children if place != top])
        nodes = [
            Node(each.task, each.step, each.method, (), self._read_places(each.line, each.first, places))
            for each in entries
        ]
        return Decomposition(tuple(nodes), roots)

    def _read_places(self, line: _Line | None, first: int, places: Mapping[int, int]) -> tuple[int, ...]:
        """Return the nodes whose numbers are on `line`."""
        if line is None:
            return ()
        found = []
        for count in range(first, len(line.words)):
            number = self._read_number(line, count)
            if number not in places:
                message = f"no line has the number {number}"
                raise PlanError(message, line.place(count), "each task has a line of its own")
            found.append(places[number])
        return tuple(found)

    def _plan_lines(self, text: str) -> Iterator[_Line]:
        """Yield the non-empty lines of the plan."""
        lines = text.splitlines()
        starts = [count for count, line in enumerate(lines) if _is_start(line)]
        if not starts:
            place = Location(self.source, 1, 1)
            raise PlanError(f"found no line {_START}, after which the plan would stand", place, f"write {_START} first")
        for count, line in enumerate(lines[starts[-1] :], start=starts[-1] + 1):
            start = line.index(_START) + len(_START) if count == starts[-1] + 1 else 0
            words = _WORD.findall(line, start, _comment_start(line, start))
            if words and words[0] == _END:
                return
            if words:
                yield _Line(self.source, count, line, start, words)

    def _read_step_line(self, line: _Line) -> None:
        number, words = self._read_new_number(line), line.words
        if _ARROW in words:
            place = line.place(words.index(_ARROW))
            raise PlanError(f"found '{_ARROW}' before the line '{_ROOT}'", place, f"'{_ROOT}' comes after the steps")
        if len(words) == 1:
            raise PlanError("found a number alone, expected an action after it", line.place(0), "name the action")
        key = tuple(words[1:])
        if key not in self._known_steps:
            self._known_steps[key] = self._steps.read(line.locate(1))
        step = self._known_steps[key]
        self._entries[number] = _Entry(Atom(step.action, step.arguments), len(self.steps))
        self.steps.append(step)

    def _read_task_line(self, line: _Line) -> None:
        number, words = self._read_new_number(line), line.words
        arrow = words.index(_ARROW) if _ARROW in words else 0
        if arrow < 2 or arrow + 1 == len(words):
            message = (
                f"found {quote(' '.join(words[1:]))}, expected a task with its arguments, '{_ARROW}', a method, and"
                " numbers of subtasks"
            )
            raise PlanError(message, line.place(0), "such as '7 get t b -> go 3'")
        key = tuple(words[1:arrow])
        if words[1] == _TOP and not self._tasks.has(_TOP):
            self._entries[number] = _Entry(_TOP_TASK, None, words[arrow + 1], line, arrow + 2)
            return
        if key not in self._known_tasks:
            self._known_tasks[key] = self._read_task(line.locate(1, arrow))
        method, task = words[arrow + 1], self._known_tasks[key]
        if not self._methods.has(method):
            method = self._methods.find(method, line.place(arrow + 1))
        method = self._namesakes.get((method, task.predicate), method)
        self._entries[number] = _Entry(task, None, method, line, arrow + 2)

    def _read_task(self, words: list[Word]) -> Atom:
        name = self._tasks.find(*words[0])
        wanted = len(self.problem.domain.tasks[name].parameters)
        if len(words) - 1 != wanted:
            message = f"'{name}' has {pluralize(len(words) - 1, 'argument')} here, expected {wanted}"
            raise PlanError(message, words[0][1], "write the arguments of the task, and not those of the method")
        return Atom(name, self._steps.objects(words[1:]))

    def _read_new_number(self, line: _Line) -> int:
        number = self._read_number(line, 0)
        if number in self._entries:
            raise PlanError(f"the number {number} is given twice", line.place(0), "each task has a number of its own")
        return number

    def _read_number(self, line: _Line, count: int) -> int:
        word = line.words[count]
        if len(word) > _LONGEST or not (word.isdecimal() or _NUMBER.fullmatch(word)):
            message = f"found {quote(word)}, expected the number of a task"
            raise PlanError(message, line.place(count), "numbers are whole")
        return int(word)


def _comment_start(line: str, start: int) -> int:
    """Return where the comment of `line` begins, or the end of the line."""
    end = line.find(";", start)
    return len(line) if end < 0 else end


def plan_from_text(text: str, problem: HtnProblem, source: str = "<string>") -> Plan:
    """Read the plan for `problem` in `text`; it has a decomposition if the text has one.

    A plan in JSON has the costs written there; other plans have the costs of the actions. Raises `PlanError`, with the
    place of the mistake, for any other text, such as the empty text that a failed write leaves.
    """
    if not text.strip():
        hint = "a plan without steps is the lines '==>', 'root' (with the numbers of its tasks) and '<=='"
        raise PlanError("found nothing, expected a plan", Location(source, 1, 1), hint)
    if is_json(text):
        return plan_from_data(read_json(text, source), problem, source)
    if has_decomposition(text):
        return read_plan(text, problem, source)
    return replace(read_steps(text, problem.classical, source), problem=problem)


def plan_from_data(data: Any, problem: HtnProblem, source: str = "<data>") -> Plan:
    """Return the plan of `data`, the result of `Plan.to_dict` or `Result.to_dict`. Raises `PlanError`."""
    plan, claimed = read_json_data(data, problem.classical, source)
    steps = plan.steps
    if claimed is None:
        steps = _choose_versions([_add_cost(step, problem) for step in steps], problem.classical)
    while isinstance(data, dict) and isinstance(data.get("plan"), dict):
        data = data["plan"]
    written = data.get("decomposition") if isinstance(data, dict) else None
    tree = None if written is None else tree_from_data(written, Location(source))
    return Plan(steps, problem, tree, times=plan.times)


def _choose_versions(steps: Sequence[Step], problem: Problem) -> tuple[Step, ...]:
    """Return `steps` with the versions of their actions; those of plans in time have none."""
    return tuple(steps) if is_temporal(problem) else choose_versions(steps, problem)


def _add_cost(step: Step, problem: HtnProblem) -> Step:
    action = problem.classical.domain.actions[step.action]
    return replace(step, cost=make_price(action, problem.classical)(step.arguments))


def tree_from_data(data: Any, place: Location) -> Decomposition:
    """Return the decomposition of `data`, the result of `Decomposition.to_dict`. Raises `PlanError` for other data."""
    match data:
        case {"roots": list(roots), "nodes": list(nodes)} if _are_all(int, roots):
            binding = data.get("binding", [])
            if isinstance(binding, list) and _are_all(str, binding):
                found = [_read_node(each, number, place) for number, each in enumerate(nodes)]
                return Decomposition(tuple(found), tuple(roots), tuple(binding))
    expected = 'expected {"roots": [0, …], "binding": […], "nodes": […]}'
    raise PlanError(f"the decomposition is none; {expected}", place)


def _read_node(data: Any, number: int, place: Location) -> Node:
    match data:
        case {"task": str(task), "arguments": list(arguments), "step": int(step)} if _are_all(str, arguments):
            return Node(Atom(task, tuple(arguments)), step)
        case {"task": str(task), "arguments": list(arguments), "method": str(method), "children": list(children)}:
            binding = data.get("binding", [])
            if (
                _are_all(str, arguments)
                and _are_all(int, children)
                and isinstance(binding, list)
                and _are_all(str, binding)
            ):
                return Node(Atom(task, tuple(arguments)), None, method, tuple(binding), tuple(children))
    forms = '{"task", "arguments", "step"} or {"task", "arguments", "method", "binding", "children"}'
    raise PlanError(f"node {number} of the decomposition is none; expected {forms}", place)


def _are_all(kind: type, items: list[Any]) -> bool:
    return all(isinstance(item, kind) for item in items)
