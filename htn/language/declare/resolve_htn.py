"""Resolves the names of hierarchical problems that no reader made: of `HtnProblem(…)`, or after replacing fields."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from graphlib import CycleError
from typing import Any

from htn.language.declare.hierarchy import Vocabulary
from htn.language.declare.network_reader import PARTS, NetworkReader
from htn.model import HtnDomain, HtnProblem, Method, Network, Order, Subtask, Task, linearise, seal_problem
from planner.errors import did_you_mean, kind_of
from planner.language.declare.atom_syntax import abbreviate
from planner.language.declare.condition_reader import Conditions
from planner.language.declare.declared_names import Scope, Types
from planner.language.declare.fields import Place
from planner.language.declare.name_resolution import ProblemPlace, check_types
from planner.lightweight import replace
from planner.model import Atom, Problem, Variable
from planner.problem_kinds import resolve_problem


def resolve_htn(problem: HtnProblem) -> HtnProblem:
    """Parse the texts in `problem` and resolve all names. Raises `InputError` for the first mistake."""
    classical = resolve_problem(problem.classical)
    place = ProblemPlace(f"problem {abbreviate(classical.name)}")
    domain = _resolve_domain(problem, classical, place)
    reader = _Reader(domain, classical)
    parameters = reader.parameters(problem.parameters, place)
    network = reader.network(problem.network, reader.scope("the problem", parameters), place.within("tasks"))
    found = replace(problem, domain=domain, classical=classical, network=network, parameters=parameters)
    return problem if classical is problem.classical and found == problem else seal_problem(found)


def _resolve_domain(problem: HtnProblem, classical: Problem, place: Place) -> HtnDomain:
    """Resolve the domain of `problem` over that of `classical`; check its tasks and methods unless that was done."""
    given: Any = problem.domain
    if not isinstance(given, HtnDomain):
        raise place.error(f"the domain is {kind_of(given)}", "give an HtnDomain, such as how.model of Methods(domain)")
    was, source = problem.seal[:2] if problem.seal else (None, None)
    if given is not was and given.classical is not classical.domain and given.classical != classical.domain:
        hint = "replace both: domain=replace(…, classical=domain), classical=replace(…, domain=domain)"
        raise place.error("the hierarchy and the classical part are of different domains", hint)
    found = given if given.classical is classical.domain else replace(given, classical=classical.domain)
    if given is was and isinstance(source, Problem) and _names_of(source) == _names_of(classical):
        return found
    return _Reader(found, classical).domain()


def _names_of(problem: Problem) -> tuple[Any, ...]:
    """Return the names that methods may use: types, objects, predicates, and actions with their parameters."""
    domain = problem.domain
    actions = {name: action.step_parameters for name, action in domain.actions.items()}
    return domain.types, domain.constants, problem.objects, domain.predicates, actions


class _Reader:
    """Resolves names over the objects of `classical` and the tasks of `domain`."""

    def __init__(self, domain: HtnDomain, classical: Problem) -> None:
        self._domain = domain
        self._place = ProblemPlace(f"domain {abbreviate(domain.name)}")
        self._types = Types.of(classical.domain.types)
        self._objects = {each.name: each for each in classical.all_objects}
        self._predicates = classical.domain.predicates
        self._words = Vocabulary(classical.domain, self._types, self._check_mapping("tasks", Task))

    def _check_mapping(self, field: str, kind: type) -> Mapping[str, Any]:
        """Return the tasks or methods of the domain by name."""
        given, place, of = getattr(self._domain, field), self._place.within(field), kind.__name__
        if not isinstance(given, Mapping):
            raise place.error(f"{abbreviate(given)} are no {field}", f"give a mapping from names to {of}(…)")
        for name, each in given.items():
            if not isinstance(each, kind):
                raise place.error(f"{abbreviate(each)} is no {field[:-1]}", f"write {of}('name', …)")
            own = getattr(each, "name", None)
            if own != name:
                raise place.error(f"{field[:-1]} {own!r} stands there as {abbreviate(name)}", "give it one name")
        return given

    def domain(self) -> HtnDomain:
        """Return the domain with all names in its tasks and methods resolved."""
        tasks, methods = self._check_mapping("tasks", Task), self._check_mapping("methods", Method)
        for name, task in tasks.items():
            place = self._place.within("tasks", name)
            if name in self._domain.classical.actions:
                raise place.error(f"task {name!r} is also an action", "rename one of them")
            _ = self.parameters(task.parameters, place)
        found = {
            name: self._resolve_method(each, self._place.within("methods", name)) for name, each in methods.items()
        }
        return self._domain if found == methods else replace(self._domain, methods=found)

    def scope(self, owner: str, parameters: Iterable[Variable]) -> Scope:
        """Return the scope of the names that `owner` uses."""
        return Scope(owner, {each.name: each.types for each in parameters}, self._objects)

    def parameters(self, given: Any, place: Place) -> tuple[Variable, ...]:
        """Return the `given` parameters. Raises `InputError` for an undeclared type."""
        place = place.within("parameters")
        if isinstance(given, str) or not isinstance(given, Iterable):
            raise place.error(f"{abbreviate(given)} are no parameters", "give a tuple of Variable('?r', ('robot',))")
        found = tuple(given)
        for each in found:
            if not isinstance(each, Variable) or not each.name.startswith("?"):
                raise place.error(f"{abbreviate(each)} is no parameter", "write Variable('?r', ('robot',))")
            check_types(each, "parameter", self._types, place)
        names = [each.name for each in found]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise place.error(f"parameter {twice!r} is there twice", "rename one of them")
        return found

    def network(self, given: Any, scope: Scope, place: Place) -> Network:
        """Parse the texts in the `given` network and resolve its names."""
        if not isinstance(given, Network):
            raise place.error(
                f"{abbreviate(given)} is no network", "write sequence(Atom(…), …) or Network((Subtask(…), …))"
            )
        reader = NetworkReader(scope, self._types.parents, exact=True)
        fields = {"subtasks": _read_subtasks(given, place), "ordered": False, "constraints": given.constraints}
        draft = reader.read(fields, {**dict.fromkeys(PARTS, place), "constraints": place.within("constraints")})
        for use in draft.uses:
            self._words.check_subtask(use)
        found = replace(draft.network, ordering=_read_ordering(given, place.within("ordering")))
        return given if found == given else found

    def _resolve_method(self, method: Method, place: Place) -> Method:
        scope = self.scope(f"method {method.name!r}", self.parameters(method.parameters, place))
        reader = NetworkReader(scope, self._types.parents, exact=True)
        head = reader.read({"subtasks": (Subtask(method.task),)}, dict.fromkeys(PARTS, place.within("task")))
        self._words.check_head(head.uses[0])
        precondition = self._resolve_precondition(method.precondition, scope, place.within("requires"))
        network = self.network(method.network, scope, place.within("subtasks"))
        return replace(method, task=head.network.subtasks[0].task, precondition=precondition, network=network)

    def _resolve_precondition(self, given: Any, scope: Scope, place: Place) -> Any:
        if given is None:
            raise place.error("None is no condition", "write a condition; one that always holds is TRUE")
        found = Conditions(scope, self._types.parents, exact=True).formula(given, place)
        for use in scope.uses:
            name = use.atom.predicate
            if name not in self._predicates:
                near = did_you_mean(name, self._predicates)
                raise place.error(f"{use.atom}: domain {self._domain.name!r} has no predicate {name!r}", near)
            self._words.check_condition(use)
        return found


def _read_subtasks(network: Network, place: Place) -> tuple[Subtask, ...]:
    """Return the subtasks of `network`; a bare task has no label."""
    given: Any = network.subtasks
    if isinstance(given, str | Atom | Subtask) or not isinstance(given, Iterable):
        raise place.error(f"{abbreviate(given)} are no subtasks", "give a tuple of Subtask(Atom(…))")
    return tuple([each if isinstance(each, Subtask) else Subtask(each) for each in given])


def _read_ordering(network: Network, place: Place) -> tuple[Order, ...]:
    """Return the ordering of `network`: acyclic pairs of places."""
    given: Any = network.ordering
    size = len(network.subtasks)
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise place.error(f"{abbreviate(given)} is no ordering", "give pairs of places of subtasks: ((0, 1), …)")
    pairs = tuple(given)
    for pair in pairs:
        if not isinstance(pair, tuple) or len(pair) != 2 or not all(_is_place(each, size) for each in pair):
            known = f"the places are 0 to {size - 1}" if size else "there are no subtasks"
            raise place.error(f"{abbreviate(pair)} is no pair of places of subtasks", known)
    try:
        linearise(size, pairs)
    except CycleError as error:
        circle = " < ".join(f"{network.subtasks[each].task} ({each})" for each in error.args[1])
        raise place.error(f"the ordering runs in a circle: {circle}", "remove one of its pairs") from None
    return pairs


def _is_place(value: Any, size: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < size
