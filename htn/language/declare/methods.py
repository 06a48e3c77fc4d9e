"""`Methods`: the class with which authors declare tasks and methods in Python."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from functools import reduce
from itertools import islice
from types import FrameType
from typing import Any, Final, TypeVar, overload

from htn.compilations.methods_from_actions import add_derived_methods
from htn.language.declare.for_each import add_action, declare_for_each
from htn.language.declare.hierarchy import Hierarchy, read_network
from htn.language.declare.network_reader import check_planning
from htn.model import HtnDomain, HtnProblem, Method, seal_problem
from planner.language.declare import Domain, Entity, PredicateRef
from planner.language.declare.action_parameters import read_parameters, read_signature
from planner.language.declare.atom_syntax import abbreviate
from planner.language.declare.condition_reader import Constraints, split_constraints
from planner.language.declare.declared_names import Scope
from planner.language.declare.fields import CodePlace, Place, find_definition, resolution_of
from planner.language.declare.marks import Condition, Patterns, TypeLike
from planner.language.declare.model_builder import objects_of
from planner.language.declare.problem_builder import Facts, GoalLike, ProblemBuilder
from planner.model import Action, Atom, DomainModel, Metric, Number, NumericMetric, Object, Variable
from planner.model.timing import GoalDeadline, TimedEffect
from planner.problem_kinds import Declarer

_OURS: Final = ("htn.language.declare", "planner.language.declare")


def find_caller() -> CodePlace:
    """Return the line outside these packages that called the declaration."""
    frame = _caller_frame()
    return CodePlace(frame.f_code.co_filename, frame.f_lineno)


def find_caller_names() -> Mapping[str, Any]:
    """Return the local names of the caller: annotations may name classes defined in a function."""
    return _caller_frame().f_locals


def _caller_frame() -> FrameType:
    frame = sys._getframe(1)  # noqa: SLF001 - the documented way to a caller's line
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(_OURS):
        frame = frame.f_back
    return frame


Function = TypeVar("Function", bound=Callable[..., Any])
MOST_SUBTASKS: Final = 100_000
"""Maximum number of subtasks of a function: beyond it, the function counts as endless."""


class Methods(Declarer):
    """Collects the tasks and methods of `domain`, checks each, and returns the immutable `model`.

    With `derived`, the tasks and methods derived from the actions come after those declared here, which may use them:
    `achieve-at(robot, room)`. All methods raise `DeclarationError` with the place of the mistake.
    """

    def __init__(self, domain: Domain | DomainModel, *, derived: bool = False) -> None:
        place = find_caller()
        if not isinstance(domain, Domain | DomainModel):
            raise place.error(f"{abbreviate(domain)} is no domain", "write Methods(domain), with what Domain(…) gave")
        self._domain = domain
        self._derived = derived
        self._hierarchy = Hierarchy()
        self._checks: list[Action] = []
        """The actions that check that no item of a task for each item is left."""
        self._completed: tuple[DomainModel, int, DomainModel] | None = None
        """The classical domain, the number of checks, and the domain with them."""
        self._made: tuple[DomainModel, int, HtnDomain] | None = None
        """The model that was built last, with its sources: the classical domain, and the number of types."""

    @property
    def model(self) -> HtnDomain:
        """The immutable domain. Raises `DeclarationError` if declarations contradict each other."""
        return self._build_model(find_caller())

    @property
    def classes(self) -> Mapping[str, type[Entity]]:
        """The subclasses of `Entity` that stand for types, by the names of the types."""
        of_domain = self._domain.classes if isinstance(self._domain, Domain) else {}
        return {**of_domain, **self._hierarchy.types.classes}

    def _classical(self, place: Place) -> DomainModel:
        model = self._domain.model if isinstance(self._domain, Domain) else self._domain
        self._hierarchy.know(model, place)
        if not self._checks:
            return model
        if self._completed is None or self._completed[0] is not model or self._completed[1] != len(self._checks):
            self._completed = model, len(self._checks), reduce(add_action, self._checks, model)
        return self._completed[2]

    def _build_model(self, place: Place) -> HtnDomain:
        classical, types = self._classical(place), len(self._hierarchy.types.parents)
        if self._made is None or self._made[0] is not classical or self._made[1] != types:
            known = add_derived_methods(HtnDomain(classical)) if self._derived else HtnDomain(classical)
            found = self._hierarchy.model(classical, known.tasks)
            self._made = classical, types, add_derived_methods(found) if self._derived else found
        return self._made[2]

    def _invalidate(self) -> Hierarchy:
        self._made = None
        return self._hierarchy

    @overload
    def task(self, name: Callable[..., Any], /) -> PredicateRef: ...

    @overload
    def task(self, name: str, /, *, description: str = "", **parameters: TypeLike) -> PredicateRef: ...

    def task(self, name: Any, /, *, description: str = "", **parameters: TypeLike) -> PredicateRef:
        """Declare a compound task, by name or as a decorator, and return it as a callable value.

        As a decorator it takes name, parameters and description from the function, whose body is not used.
        """
        if isinstance(name, str):
            place: Place = find_caller()
            self._classical(place)
            read = read_parameters(parameters, self._hierarchy.types, place)
        else:
            function, names = name, find_caller_names()
            place, name = _locate_function(function, "task")
            self._classical(place)
            read = read_signature(function, self._hierarchy.types, place, names)
            description = inspect.cleandoc(function.__doc__ or "")
        variables = check_planning(read, f"task {name!r}", place)
        self._invalidate().task(name, variables, place, description)
        return PredicateRef(name, tuple([each.types for each in variables]), self._hierarchy.types)

    @overload
    def method(self, name: None = None, /, *, named: str = "", **fields: Any) -> Callable[[Function], Function]: ...

    @overload
    def method(
        self, name: str, /, parameters: Mapping[str, Any] | Iterable[Variable] = (), **fields: Any
    ) -> Method: ...

    def method(self, name: Any = None, /, parameters: Any = (), *, named: str = "", **fields: Any) -> Any:
        """Declare a method: as a decorator, or by name without a function.

        `task` is what it does: `"deliver(parcel, target)"`, with parameters of the method or constants. `requires` are
        conditions as those of actions, `constraints` say which parameters are equal or not. `subtasks` are tasks and
        actions, one after the other; with `ordered=False` in any order, or in that of `ordering`, pairs of labels of
        subtasks: `"a: move(robot, hall)"`.

        As a decorator it takes the name (unless `named` says otherwise), the parameters and the description from the
        function, and the subtasks from what it returns or yields when its parameters are their own names.
        """
        if isinstance(name, str):
            place: Place = find_caller()
            classical = self._classical(place)
            read = read_parameters(parameters, self._hierarchy.types, place.within("parameters"))
            variables = check_planning(read, f"method {name!r}", place)
            return self._invalidate().method(name, variables, fields, classical, place)
        if name is not None:
            raise find_caller().error("a method says which task it is for", "write @how.method(task='name(arg, …)')")
        names = find_caller_names()
        return lambda function: self._declare_method(function, named, fields, names)

    def for_each(
        self,
        task: str,
        parameters: Mapping[str, Any] | Iterable[Variable],
        *,
        items: Condition,
        do: Any,
        until: Condition = (),
        description: str = "",
    ) -> None:
        """Declare `task`, such as `"handle_all(customer)"`: for each of the `items`, `do` these subtasks.

        `parameters` are those of the task and those of the items. An item is left while its condition holds and that of
        `until` does not. The task ends with a check that no item is left, so that a run also does what turns up on the
        way. Each of `do` must make `until` true, or the condition of its item false.
        """
        place = find_caller()
        classical = self._classical(place)
        read = read_parameters(parameters, self._hierarchy.types, place.within("parameters"))
        variables = check_planning(read, f"task {abbreviate(task)}", place)
        fields = {"task": task, "items": items, "until": until, "do": do, "description": description}
        self._checks.append(declare_for_each(self._invalidate(), classical, variables, fields, place))

    def _declare_method(self, function: Function, named: str, fields: Any, names: Mapping[str, Any]) -> Function:
        place, name = _locate_function(function, "method")
        name = named or name
        classical = self._classical(place)
        read = read_signature(function, self._hierarchy.types, place, names)
        variables = check_planning(read, f"method {name!r}", place)
        if "description" not in fields and function.__doc__:
            fields = {**fields, "description": inspect.cleandoc(function.__doc__)}
        written = _ask_for_subtasks(function, variables, name, place)
        if written is not None:
            if "subtasks" in fields:
                raise place.error(f"method {name!r} gives subtasks, and its function returns some", "do one of the two")
            fields = {**fields, "subtasks": written}
        self._invalidate().method(name, variables, fields, classical, place)
        return function

    def problem(
        self,
        name: str = "",
        *,
        objects: Mapping[str, Any] | Iterable[Entity | Object] = (),
        initial: Facts = (),
        goal: GoalLike = (),
        tasks: Iterable[str | Atom] | str | Atom = (),
        ordered: bool | None = None,
        ordering: Iterable[Any] | None = None,
        parameters: Mapping[str, TypeLike] | Iterable[Variable] = (),
        constraints: Condition | Constraints = (),
        values: Mapping[str | Atom, Any] | None = None,
        unknown: Patterns = (),
        likely: Mapping[str | Atom, Number | float | str] | None = None,
        budgets: Mapping[str, Number | str] | None = None,
        deadline: Number | float | str | datetime | None = None,
        timed: Mapping[Any, Any] | Iterable[TimedEffect] | None = None,
        windows: Mapping[str | Atom, Any] | None = None,
        due: Mapping[Any, Any] | Iterable[GoalDeadline] | None = None,
        capacity: Mapping[str, Number | str] | None = None,
        starts_at: str | datetime | None = None,
        objective: str | None = None,
        metric: Metric | NumericMetric | str = Metric.COST,
        resolution: Number | float | str | None = None,
    ) -> HtnProblem:
        """Return a problem of this domain: `tasks` to be done, and a `goal` to hold then, if there is one.

        Tasks are written as the subtasks of a method; `parameters` are variables in them, for which any objects will
        do that keep the `constraints`: conditions on them, among which may stand those on the way (`always(…)`, …).
        All else is as in `Domain.problem`, whose default `resolution` holds here, too: `timed`, `windows`, `due`,
        `capacity` and `objective="makespan"` ask for plans in time, whose steps keep the order of the tasks.
        """
        place = find_caller()
        self._classical(place)
        types = self._hierarchy.types
        found, entities = objects_of(objects, types, place)
        domain = self._build_model(place)
        rounded = resolution_of(resolution, place)
        if isinstance(self._domain, Domain):
            rounded, entities = rounded or self._domain.resolution, {**self._domain.entities, **entities}
        on_the_way, conditions = split_constraints(constraints)
        classical = ProblemBuilder(domain.classical, found, place).build(
            name or domain.name,
            initial,
            goal,
            values=values or {},
            unknown=unknown,
            likely=likely,
            constraints=on_the_way,
            budgets=budgets,
            deadline=deadline,
            timed=timed,
            windows=windows,
            due=due,
            capacity=capacity,
            starts_at=starts_at,
            objective=objective,
            metric=metric,
            resolution=rounded,
            entities=entities,
        )
        variables = check_planning(read_parameters(parameters, types, place), "the problem", place)
        everything = {each.name: each for each in classical.all_objects}
        scope = Scope("the problem", {each.name: each.types for each in variables}, everything)
        given = {"subtasks": tasks, "ordered": ordered, "ordering": ordering, "constraints": conditions}
        network = read_network(domain, types, scope, given, dict.fromkeys(given, place))
        return seal_problem(HtnProblem(domain, classical, network, variables))


def _locate_function(function: Any, what: str) -> tuple[Place, str]:
    """Return the place and the name of a decorated function."""
    if isinstance(function, type) or not callable(function):
        given = f"the class {function.__name__}" if isinstance(function, type) else abbreviate(function)
        raise find_caller().error(f"{given} is no function", f"decorate a function, or give a name: {what}('name', …)")
    place: Place = find_definition(function) if hasattr(function, "__code__") else find_caller()
    name = getattr(function, "__name__", "")
    if not name:
        raise place.error("the function has no name", f"give one: {what}('name', …)")
    return place, name


def _ask_for_subtasks(function: Callable[..., Any], variables: tuple[Variable, ...], name: str, place: Place) -> Any:
    """Call `function` with the names of its parameters; return what it returns or yields, None for nothing at all."""
    if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
        raise place.error(f"the function of method {name!r} is async", "it is called once, to be asked for subtasks")
    arguments = {each.name.removeprefix("?"): each.name.removeprefix("?") for each in variables}
    try:
        found = function(**arguments)
        found = list(islice(found, MOST_SUBTASKS + 1)) if inspect.isgenerator(found) else found
    except Exception as error:
        raise place.error(
            f"the function of method {name!r} raises {type(error).__name__}: {error}",
            "it is called with the names of its parameters, to be asked for subtasks",
        ) from error
    if isinstance(found, list) and len(found) > MOST_SUBTASKS:
        message = f"the function of method {name!r} gives more than {MOST_SUBTASKS:,} subtasks"
        raise place.error(message, "it is called once, and has to come to an end")
    return found
