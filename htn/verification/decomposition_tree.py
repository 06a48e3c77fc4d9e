"""Checks of a decomposition that need no state: its tree against tasks and methods, and its order against the steps.

Each compound task becomes a `Frame`: its method, and the method's binding as far as the plan gives it. The initial
network is the method of a task of its own, so that it is checked like all others.

The order is a graph of events. The event `2 * place` is the beginning of the node at `place`: of a compound task, the
moment in which its method is chosen and its precondition holds. `2 * place + 1` is its end. Both events of a primitive
task are its step. A method begins before its subtasks and ends after them, and of two ordered subtasks the first ends
before the second begins.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from htn.model import Decomposition, HtnProblem, Method, Node, unify
from planner.errors import did_you_mean
from planner.language.pddl.syntax import pluralize
from planner.lightweight import Final, dataclass
from planner.model import Atom, Variable
from planner.plan import Step
from planner.semantics.condition_solver import Binding, Universe

INITIAL: Final = "the initial network"
"""The name of the task above the initial network, and of its method, in messages."""


class FlawError(Exception):
    """A flaw of a decomposition, as a message."""


@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """A compound task, at `place` in the tree, decomposed by `method`; `binding` has known values of its parameters.

    Where the plan gives no binding, the parameters that occur in neither task nor subtasks are missing in `binding`.
    """

    place: int
    task: Atom
    method: Method
    binding: Binding
    children: tuple[int, ...]

    @property
    def is_open(self) -> bool:
        """Whether some parameters have no value yet."""
        return len(self.binding) < len(self.method.parameters)

    def __str__(self) -> str:
        if self.method.name == INITIAL:
            return INITIAL
        return f"method {self.method.name} of {_Name(self.task, self.place)}"


def frames_of(problem: HtnProblem, steps: tuple[Step, ...], tree: Decomposition, universe: Universe) -> list[Frame]:
    """Return the compound tasks of `tree`, the initial network first, each before those below it.

    Raises `FlawError` where the tree is none of `problem`, or its leaves are not exactly `steps`.
    """
    reader = _Reader(problem, steps, tree, universe)
    for place, node in enumerate(tree.nodes):
        reader.check_node(place, node)
    network = Method(INITIAL, Atom(INITIAL), problem.parameters, network=problem.network)
    top = Node(network.task, None, INITIAL, tree.binding, tree.roots)
    frames = [reader.frame(len(tree.nodes), top, network)]
    for frame in frames:
        frames.extend(reader.below(frame))
    reader.check_complete()
    return frames


@dataclass(frozen=True, slots=True, eq=False)
class _Name:
    """The name of a node in messages."""

    task: Atom
    place: int

    def __str__(self) -> str:
        return f"{self.task} (node {self.place})"


class _Reader:
    def __init__(self, problem: HtnProblem, steps: tuple[Step, ...], tree: Decomposition, universe: Universe) -> None:
        self._domain = problem.domain
        self._steps = steps
        self._nodes = tree.nodes
        self._universe = universe
        self._above: dict[int, Frame] = {}
        self._leaf_of: dict[int, int] = {}

    def check_node(self, place: int, node: Node) -> None:
        """Refuse a node that is neither a step of the plan nor a task with a method for it."""
        if node.step is None:
            self._check_task(place, node)
        else:
            self._check_leaf(place, node, node.step)

    def below(self, frame: Frame) -> Iterator[Frame]:
        """Yield the frames of the compound subtasks of `frame`."""
        for place in frame.children:
            node = self._nodes[place]
            if node.step is None:
                yield self.frame(place, node, self._domain.methods[node.method])

    def frame(self, place: int, node: Node, method: Method) -> Frame:
        """Return the frame of `node`, which was decomposed by `method`."""
        frame = Frame(place, node.task, method, self._given_binding(place, node, method), node.children)
        self._take_children(frame)
        if not _extend(frame.binding, method.task, node.task):
            raise FlawError(f"{frame}: it is a method for {method.task.substitute(frame.binding)}, not {node.task}")
        for number, (subtask, child) in enumerate(zip(method.network.subtasks, node.children, strict=True), start=1):
            task = self._nodes[child].task
            if not _extend(frame.binding, subtask.task, task):
                wanted = subtask.task.substitute(frame.binding)
                raise FlawError(
                    f"{frame}: its subtask {number} is {wanted}, not {task}{self._describe_permutation(frame)}"
                )
        for parameter in method.parameters:
            if parameter.name in frame.binding:
                self._check_object(frame.binding[parameter.name], parameter, frame)
        return frame

    def _describe_permutation(self, frame: Frame) -> str:
        """Return a note that the children of `frame` are in the wrong order, where their names tell; else ""."""
        wanted = [subtask.task.predicate for subtask in frame.method.network.subtasks]
        found = [self._nodes[child].task.predicate for child in frame.children]
        is_permuted = wanted != found and sorted(wanted) == sorted(found)
        return "; the plan lists its subtasks in the wrong order" if is_permuted else ""

    def check_complete(self) -> None:
        """Refuse nodes below no root, and steps below no task."""
        for place, node in enumerate(self._nodes):
            if place not in self._above:
                raise FlawError(f"{_Name(node.task, place)} belongs to no task")
        for number, step in enumerate(self._steps):
            if number not in self._leaf_of:
                raise FlawError(f"step {number + 1} {step} comes of no task")

    def _take_children(self, frame: Frame) -> None:
        wanted = len(frame.method.network.subtasks)
        if len(frame.children) != wanted:
            raise FlawError(f"{frame}: it has {pluralize(wanted, 'subtask')}, but {len(frame.children)} here")
        for child in frame.children:
            if not 0 <= child < len(self._nodes):
                raise FlawError(f"{frame}: there is no node {child}")
            if child in self._above:
                both = f"of {self._above[child]} and of {frame}"
                raise FlawError(f"{self._nodes[child].task} (node {child}) is a subtask twice: {both}")
            self._above[child] = frame

    def _check_task(self, place: int, node: Node) -> None:
        """Refuse a compound task, or a method for it, that the domain does not have."""
        task, name = self._domain.tasks.get(node.task.predicate), _Name(node.task, place)
        if task is None:
            if node.task.predicate in self._domain.classical.actions:
                raise FlawError(f"{name} is an action, but no step of the plan")
            raise FlawError(
                f"{name}: no task is called '{node.task.predicate}'" + self._suggest_name(node.task.predicate)
            )
        if len(node.task.args) != len(task.parameters):
            wanted = pluralize(len(task.parameters), "argument")
            raise FlawError(f"{name}: the task takes {wanted}, not {len(node.task.args)}")
        for parameter, argument in zip(task.parameters, node.task.args, strict=True):
            self._check_object(argument, parameter, name)
        method = self._domain.methods.get(node.method)
        if method is None:
            hint = did_you_mean(node.method, [each.name for each in self._domain.methods_for(task.name)])
            raise FlawError(f"{name}: no method is called '{node.method}'" + (f"; {hint}" if hint else ""))
        if method.task.predicate != task.name:
            raise FlawError(f"{name}: method {method.name} is one for {method.task.predicate}")

    def _suggest_name(self, name: str) -> str:
        hint = did_you_mean(name, [*self._domain.tasks, *self._domain.classical.actions])
        return f"; {hint}" if hint else ""

    def _check_leaf(self, place: int, node: Node, number: int) -> None:
        name = _Name(node.task, place)
        if node.method or node.children or node.binding:
            raise FlawError(f"{name} is step {number + 1}, and yet decomposed")
        if not 0 <= number < len(self._steps):
            raise FlawError(f"{name} is step {number + 1} of a plan of {pluralize(len(self._steps), 'step')}")
        step = self._steps[number]
        if Atom(step.action, step.arguments) != node.task:
            raise FlawError(f"{name} is step {number + 1}, which is {step}")
        if number in self._leaf_of:
            raise FlawError(f"step {number + 1} {step} is both node {self._leaf_of[number]} and node {place}")
        self._leaf_of[number] = place

    def _given_binding(self, place: int, node: Node, method: Method) -> Binding:
        """Return the binding of `node`, which has all parameters or none."""
        names = [parameter.name for parameter in method.parameters]
        if node.binding and len(node.binding) != len(names):
            name = INITIAL if method.name == INITIAL else f"method {method.name} of {_Name(node.task, place)}"
            raise FlawError(
                f"{name}: it has {pluralize(len(names), 'parameter')}, but a binding of {len(node.binding)}"
            )
        return dict(zip(names, node.binding, strict=False))

    def _check_object(self, name: str, parameter: Variable, where: object) -> None:
        if name not in self._universe:
            hint = did_you_mean(name, self._universe)
            raise FlawError(f"{where}: no object is called '{name}'" + (f"; {hint}" if hint else ""))
        if name not in self._universe.of_types(parameter.types):
            wanted, found = " or ".join(parameter.types), " or ".join(self._universe.types_of(name))
            raise FlawError(f"{where}: '{name}' is of type {found}, but {parameter.name} wants {wanted}")


def _extend(binding: Binding, pattern: Atom, task: Atom) -> bool:
    """Extend `binding` so that `pattern` becomes `task`; return whether that is possible."""
    found = unify(pattern, task, binding)
    binding.update(found or {})
    return found is not None


@dataclass(frozen=True, slots=True, eq=False)
class Events:
    """For each event those that are `following` at once, and how many it `waits_for`; `steps` has those of steps."""

    following: list[list[int]]
    waits_for: list[int]
    steps: dict[int, int]


def events_of(tree: Decomposition, frames: Sequence[Frame]) -> Events:
    """Return the events of `tree`, whose compound tasks are `frames`."""
    size = 2 * (len(tree.nodes) + 1)
    following: list[list[int]] = [[] for _ in range(size)]
    for frame in frames:
        begin = 2 * frame.place
        following[begin].append(begin + 1)
        for child in frame.children:
            following[begin].append(2 * child)
            following[2 * child + 1].append(begin + 1)
        for first, second in frame.method.network.ordering:
            following[2 * frame.children[first] + 1].append(2 * frame.children[second])
    steps = {2 * place: node.step for place, node in enumerate(tree.nodes) if node.step is not None}
    for event in steps:
        following[event].append(event + 1)
    waits_for = [0] * size
    for events in following:
        for event in events:
            waits_for[event] += 1
    return Events(following, waits_for, steps)


def check_order(events: Events, frames: Sequence[Frame], steps: Sequence[Step]) -> None:
    """Raise `FlawError` where a step comes before one that it has to follow, or where events form a cycle.

    `earliest` are slots: slot 0 is before the first step, slot n after step n.
    """
    earliest = [0] * len(events.following)
    cause = [-1] * len(events.following)
    waits_for = events.waits_for.copy()
    ready = [event for event, number in enumerate(waits_for) if not number]
    done = 0
    while ready:
        event = ready.pop()
        done += 1
        number = events.steps.get(event)
        if number is not None:
            if earliest[event] > number:
                raise FlawError(_describe_disorder(event, cause, events, frames, steps))
            earliest[event], cause[event] = number + 1, -1
        for other in events.following[event]:
            if earliest[event] > earliest[other]:
                earliest[other], cause[other] = earliest[event], event
            waits_for[other] -= 1
            if not waits_for[other]:
                ready.append(other)
    if done < len(events.following):
        raise FlawError("the ordering of tasks has a cycle")


def _describe_disorder(
    event: int, cause: Sequence[int], events: Events, frames: Sequence[Frame], steps: Sequence[Step]
) -> str:
    """Return the message that a step comes too early, and which network orders it."""
    path = [event]
    while cause[path[-1]] >= 0:
        path.append(cause[path[-1]])
    early, late = events.steps[event], events.steps[path[-1]]
    start = f"step {early + 1} {steps[early]} comes before step {late + 1} {steps[late]}"
    first, second = next(pair for pair in zip(path[:0:-1], path[-2::-1], strict=True) if pair[0] % 2 > pair[1] % 2)
    frame = next(frame for frame in frames if first // 2 in frame.children)
    names = [frame.children.index(each // 2) for each in (first, second)]
    tasks = [frame.method.network.subtasks[name].task.substitute(frame.binding) for name in names]
    return f"{start}, but {frame} puts {tasks[0]} before {tasks[1]}"
