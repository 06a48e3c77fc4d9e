"""Random hierarchical problems, small enough to enumerate and wild enough to reach every corner of the semantics.

A random walk through a random classical problem is cut into segments, and these into smaller ones: each becomes a task,
with a method whose parameters stand for the objects of the segment. So there is a plan; further methods, conditions and
goals, drawn without regard to it, then show other ways, or block this one.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from benchmarks.random_problems import Features, FormulaDrawer, Readable, Scope, fits, instances, random_problem
from htn.model import HtnDomain, HtnProblem, Method, Network, Subtask, Task
from planner.model import TRUE, Action, Atom, Equals, Formula, Goal, Not, Predicate, Problem, TypeHierarchy, Variable
from planner.model.formulas import conjunction, substitute
from planner.plan import Step
from planner.semantics.simulation import Simulation

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

USUAL: Final = Features(
    actions=4,
    either=False,
    conditional=False,
    universal=False,
    modifies=False,
    stale=False,
    after=False,
    axioms=False,
)
"""What hierarchical problems of the competitions contain: negative and quantified conditions, equality, costs."""

WILD: Final = Features(actions=4, either=False)
"""All that may be declared, unions of types apart."""

Names = dict[str, str]
"""What each object of a segment is called in a method."""


@dataclass(frozen=True, slots=True)
class HtnFeatures:
    """What random hierarchical problems may contain; `steps` is the greatest length of the walk.

    With `partial`, subtasks may be unordered. Tasks recur as the last of their method, so that what remains to be done
    never grows without end; with `anywhere`, they recur at any place.
    """

    classical: Features = USUAL
    steps: int = 5
    partial: bool = True
    recursive: bool = True
    anywhere: bool = False
    empty: bool = True
    preconditions: bool = True
    constraints: bool = True
    goals: bool = True
    parameters: bool = True


ORDERED: Final = HtnFeatures(partial=False, anywhere=True)
"""Sequences only, and recursion anywhere."""
PARTIAL: Final = HtnFeatures()
"""Any order, and recursion that never grows."""


def random_htn(seed: int | random.Random, features: HtnFeatures = PARTIAL) -> HtnProblem:
    """Return a random hierarchical problem; the same seed and features give the same problem."""
    rng = random.Random(seed) if isinstance(seed, int) else seed
    return _Drawer(rng, features).problem()


def htn_problems(features: HtnFeatures = PARTIAL) -> SearchStrategy[HtnProblem]:
    """Return a Hypothesis strategy for random problems; needs hypothesis, which the extra `test` installs."""
    from hypothesis import strategies

    return strategies.randoms(use_true_random=False).map(lambda rng: random_htn(rng, features))


@dataclass(frozen=True, slots=True)
class _Segment:
    """Consecutive steps of the walk, and the state in which they begin."""

    steps: tuple[Step, ...]
    states: tuple[Simulation, ...]

    def part(self, begin: int, end: int) -> _Segment:
        return _Segment(self.steps[begin:end], self.states[begin:])

    @property
    def objects(self) -> list[str]:
        return list(dict.fromkeys(name for step in self.steps for name in step.arguments))


@dataclass(slots=True)
class _Drawn:
    """What was declared so far; a task of a lower level never leads to one of a higher level."""

    tasks: dict[str, Task] = field(default_factory=dict)
    levels: dict[str, int] = field(default_factory=dict)
    methods: dict[str, Method] = field(default_factory=dict)


class _Drawer:
    def __init__(self, rng: random.Random, features: HtnFeatures) -> None:
        self.rng = rng
        self.features = features
        self.classical = random_problem(rng, features.classical)
        self.domain = self.classical.domain
        self.draw = FormulaDrawer(rng, features.classical)
        self.hierarchy = TypeHierarchy(self.domain.types)
        self.objects = {item.name: item for item in self.classical.all_objects}
        self.drawn = _Drawn()

    def problem(self) -> HtnProblem:
        walk = self._walk()
        subtasks = [self._subtask(segment, 2) for segment in self._cut(walk)]
        for name in list(self.drawn.tasks):
            self._add_methods(name)
        if self._chance(0.25):
            subtasks.append(self._any_task(tuple(self.objects.values()), 9))
        names = {name: name for name in self.objects}
        parameters = self._opened(subtasks, names) if self.features.parameters and self._chance(0.3) else ()
        bound = [each.substitute(names) for each in subtasks]
        network = self._network(bound, self._constraints(parameters), tail=False)
        domain = HtnDomain(self.domain, self.drawn.tasks, self.drawn.methods)
        return HtnProblem(domain, self._with_goal(walk), network, parameters)

    def _chance(self, probability: float) -> bool:
        return self.rng.random() < probability

    def _walk(self) -> _Segment:
        """Return some steps from the initial state, to new states where there are some."""
        states, steps = [Simulation(self.classical)], []
        for _ in range(self.rng.randint(1, self.features.steps)):
            choices = list(states[-1].applicable())
            if not choices:
                break
            for step in self.rng.sample(choices, min(3, len(choices))):
                after = states[-1].copy()
                after.apply(step)
                if all(after.facts != state.facts for state in states):
                    break
            states.append(after)
            steps.append(step)
        return _Segment(tuple(steps), tuple(states))

    def _with_goal(self, walk: _Segment) -> Problem:
        """Return the classical problem with the goal: none, some of what the walk reached, or that of the problem."""
        if not self.features.goals or self._chance(0.5):
            return replace(self.classical, goal=Goal())
        if self._chance(0.3):
            return self.classical
        end = walk.states[-1]
        facts = [
            fact for fact in instances(self.domain.predicates.values(), self.classical.all_objects) if end.holds(fact)
        ]
        chosen = self.rng.sample(facts, min(len(facts), self.rng.randint(1, 2)))
        return replace(self.classical, goal=Goal(conjunction(chosen)))

    def _cut(self, segment: _Segment) -> list[_Segment]:
        size = len(segment.steps)
        places = sorted(self.rng.sample(range(1, size), self.rng.randint(0, min(2, size - 1)))) if size > 1 else []
        return [segment.part(begin, end) for begin, end in zip([0, *places], [*places, size], strict=True)]

    def _subtask(self, segment: _Segment, level: int) -> Atom:
        """Return what does the steps of `segment`: an action, or a task of at most this level that it is given."""
        if len(segment.steps) == 1 and (level == 0 or self._chance(0.4)):
            return Atom(segment.steps[0].action, segment.steps[0].arguments)
        objects = segment.objects
        args = self.rng.sample(objects, min(len(objects), self.rng.choice([0, 1, 1, 2])))
        name = f"task{len(self.drawn.tasks)}"
        parameters = tuple([Variable(f"?t{place}", (self._type_of(arg),)) for place, arg in enumerate(args)])
        self.drawn.tasks[name] = Task(name, parameters)
        self.drawn.levels[name] = level
        self._add_lifted(Atom(name, tuple(args)), segment, level)
        return Atom(name, tuple(args))

    def _add_lifted(self, head: Atom, segment: _Segment, level: int) -> None:
        """Add the method that does `segment` as the walk does, perhaps by beginning and doing the same task again."""
        if level == 0:
            parts = [Atom(step.action, step.arguments) for step in segment.steps]
        else:
            parts = [self._subtask(part, self.rng.randrange(level)) for part in self._cut(segment)]
        if self.features.recursive and len(parts) > 1 and self._chance(0.4):
            self._add_method(head, parts[1:], segment.states[1] if level == 0 else None)
            parts = [parts[0], head]
        self._add_method(head, parts, segment.states[0])

    def _add_method(self, head: Atom, parts: Sequence[Atom], state: Simulation | None) -> None:
        """Add a method in which parameters stand for most of the objects; `state` is one in which it is to be used."""
        objects = dict.fromkeys(arg for atom in (head, *parts) for arg in atom.args)
        constants = {each.name for each in self.domain.constants}
        names: Names = {
            name: f"?x{place}" for place, name in enumerate(objects) if name not in constants or self._chance(0.5)
        }
        wanted = self._wanted((head, *parts))
        parameters = tuple([Variable(each, (self._type_of(name, wanted[name]),)) for name, each in names.items()])
        condition = self._precondition(parameters, names, state)
        lifted = [each.substitute(names) for each in parts]
        tail = any(each.predicate == head.predicate for each in parts)
        network = self._network(lifted, self._constraints(parameters), tail=tail)
        name = f"method{len(self.drawn.methods)}"
        self.drawn.methods[name] = Method(name, head.substitute(names), parameters, condition, network)

    def _wanted(self, atoms: Sequence[Atom]) -> dict[str, set[str]]:
        """Return for each object the types that it has to be of where it stands."""
        found: dict[str, set[str]] = {}
        for atom in atoms:
            known = self.drawn.tasks.get(atom.predicate) or self.domain.actions[atom.predicate]
            for arg, parameter in zip(atom.args, known.parameters, strict=True):
                found.setdefault(arg, set()).update(parameter.types)
        return found

    def _type_of(self, name: str, wanted: set[str] | None = None) -> str:
        """Return a type of the object that is below all that are wanted."""
        above = self.hierarchy.ancestors(self.objects[name].types[0])
        fitting = sorted(each for each in above if (wanted or set()) <= self.hierarchy.ancestors(each))
        return self.rng.choice(fitting)

    def _precondition(self, parameters: tuple[Variable, ...], names: Names, state: Simulation | None) -> Formula:
        if not self.features.preconditions or self._chance(0.4):
            return TRUE
        back = {variable: name for name, variable in names.items()}
        scope: Scope = (*parameters, *self.domain.constants)
        predicates = list(self.domain.predicates.values())
        for _ in range(4):
            depth = self.rng.choice([0, 0, 1])
            condition = self.draw.formula(Readable(predicates, predicates), scope, depth, prefer=parameters)
            if state is None or state.holds(substitute(condition, back)) or self._chance(0.1):
                return condition
        return TRUE

    def _constraints(self, parameters: tuple[Variable, ...]) -> Formula:
        """Return constraints that the walk keeps: each object has one name in a method."""
        scope: Scope = (*parameters, *self.domain.constants)
        if not self.features.constraints or not parameters or len(scope) < 2 or self._chance(0.75):
            return TRUE
        left, right = self.rng.sample(scope, 2)
        same = Equals(left.name, right.name)
        return same if self._chance(0.15) else Not(same)

    def _network(self, tasks: Sequence[Atom], constraints: Formula, *, tail: bool) -> Network:
        """Return a network of `tasks`; with `tail`, the last of them comes last."""
        size = len(tasks)
        every = [(one, other) for one in range(size) for other in range(one + 1, size)]
        ordering = [(place, place + 1) for place in range(size - 1)]
        if self.features.partial and self._chance(0.7):
            ordering = [pair for pair in every if self._chance(0.3) or (tail and pair[1] == size - 1)]
        places = list(range(size))
        if self._chance(0.15):
            self.rng.shuffle(places)
        written = tuple([Subtask(tasks[places.index(place)]) for place in range(size)])
        return Network(written, tuple([(places[one], places[other]) for one, other in ordering]), constraints)

    def _opened(self, tasks: Sequence[Atom], names: Names) -> tuple[Variable, ...]:
        """Return variables that stand for some objects of the initial tasks, and say so in `names`."""
        wanted = self._wanted(tasks)
        chosen = self.rng.sample(sorted(wanted), min(len(wanted), self.rng.randint(1, 2)))
        names.update({name: f"?i{place}" for place, name in enumerate(chosen)})
        return tuple([Variable(names[name], (self._type_of(name, wanted[name]),)) for name in chosen])

    def _add_methods(self, name: str) -> None:
        """Add methods for the task that have nothing to do with the walk."""
        task, level = self.drawn.tasks[name], self.drawn.levels[name]
        head = Atom(name, tuple([each.name for each in task.parameters]))
        if self.features.empty and self._chance(0.2):
            self._add_drawn(head, task.parameters, [], tail=False)
        for _ in range(self.rng.choice([0, 0, 1, 1, 2])):
            parameters = (*task.parameters, *self.draw.variables(0, 1))
            scope: Scope = (*parameters, *self.domain.constants)
            reach = 9 if self.features.anywhere and self.features.recursive else level
            parts = [self._any_task(scope, reach) for _ in range(self.rng.randint(0 if self.features.empty else 1, 2))]
            tail = self.features.recursive and self._chance(0.3)
            self._add_drawn(head, parameters, [*parts, *([self._again(task, scope)] if tail else [])], tail=tail)

    def _add_drawn(self, head: Atom, parameters: tuple[Variable, ...], parts: Sequence[Atom], *, tail: bool) -> None:
        network = self._network(parts, self._constraints(parameters), tail=tail)
        name = f"method{len(self.drawn.methods)}"
        condition = self._precondition(parameters, {}, None)
        self.drawn.methods[name] = Method(name, head, parameters, condition, network)

    def _any_task(self, scope: Scope, level: int) -> Atom:
        """Return an action or a task below `level` with arguments out of `scope`, well typed."""
        lower = [task for task in self.drawn.tasks.values() if self.drawn.levels[task.name] < level]
        known: list[Action | Task] = [*self.domain.actions.values(), *lower]
        signatures = [Predicate(each.name, each.parameters) for each in known]
        found = self.draw.atom(signatures, scope)
        return self._nothing() if found is None else found

    def _again(self, task: Task, scope: Scope) -> Atom:
        args = [
            self.rng.choice([term.name for term in scope if fits(term, parameter.types)])
            for parameter in task.parameters
        ]
        return Atom(task.name, tuple(args))

    def _nothing(self) -> Atom:
        """Return a task without parameters that is done by doing nothing."""
        if "nothing" not in self.drawn.tasks:
            self.drawn.tasks["nothing"] = Task("nothing")
            self.drawn.levels["nothing"] = -1
            self.drawn.methods["do-nothing"] = Method("do-nothing", Atom("nothing"))
        return Atom("nothing")
