"""All tasks and methods declared for one domain, each with its place, and the model that they make together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from htn.declare.networks import PARTS, NetworkReader
from htn.declare.uses import Vocabulary
from htn.model import HtnDomain, Method, Network, Task
from planner.declare.conditions import Conditions
from planner.declare.places import Place
from planner.declare.scope import Scope, Use
from planner.declare.syntax import cannot_name, is_atom_name
from planner.declare.types import Types
from planner.declare.values import text
from planner.errors import did_you_mean
from planner.model import DomainModel, Variable
from planner.records import dataclass

FIELDS: Final = ("task", "requires", *PARTS, "description")
"""What can be said about a method besides its name and parameters."""
_RENAME: Final = "rename one of them"


@dataclass(frozen=True, slots=True)
class _Declared:
    method: Method
    place: Place
    head: Use
    conditions: tuple[Use, ...]
    subtasks: tuple[Use, ...]


class Hierarchy:
    """Collects tasks and methods; `model()` checks what needs all of them, and gives the immutable domain."""

    def __init__(self) -> None:
        self.types = Types()
        self._tasks: dict[str, tuple[Task, Place]] = {}
        self._methods: dict[str, _Declared] = {}

    def know(self, classical: DomainModel, place: Place) -> None:
        """Take in the types that the classical domain has by now."""
        new = {name: parents for name, parents in classical.types.items() if name not in self.types}
        if new:
            self.types.declare(new, place)

    def task(self, name: str, parameters: tuple[Variable, ...], place: Place, description: str = "") -> Task:
        """Add a compound task."""
        if not is_atom_name(name):
            raise place.error(*cannot_name(name, "a task"))
        if name in self._tasks:
            raise place.error(f"task {name!r} is already declared at {self._tasks[name][1].location}", _RENAME)
        found = Task(name, parameters, text(description, "a description", place.within("description")))
        self._tasks[name] = found, place
        return found

    def method(
        self,
        name: str,
        parameters: tuple[Variable, ...],
        fields: Mapping[str, Any],
        classical: DomainModel,
        place: Place,
    ) -> Method:
        """Add a method; nothing is kept of one that has a mistake. `fields` are those of `FIELDS`."""
        self._check_method(name, fields, place)
        scope = Scope(
            f"method {name!r}",
            {each.name: each.types for each in parameters},
            {each.name: each for each in classical.constants},
        )
        reader = NetworkReader(scope, self.types.parents)
        head = reader.task(fields["task"], place.within("task"))
        precondition = Conditions(scope, self.types.parents).formula(fields.get("requires"), place.within("requires"))
        draft = reader.read(fields, {each: place.within(each) for each in PARTS})
        description = text(fields.get("description", ""), "a description", place.within("description"))
        method = Method(name, head, parameters, precondition, draft.network, description)
        self._methods[name] = _Declared(method, place, draft.uses[0], tuple(scope.uses), draft.uses[1:])
        return method

    def _check_method(self, name: str, fields: Mapping[str, Any], place: Place) -> None:
        if not is_atom_name(name):
            raise place.error(*cannot_name(name, "a method"))
        if name in self._methods:
            raise place.error(f"method {name!r} is already declared at {self._methods[name].place.location}", _RENAME)
        for field in fields:
            if field not in FIELDS:
                raise place.error(f"a method has no field {field!r}", did_you_mean(field, FIELDS))
        if fields.get("task") is None:
            raise place.error(f"method {name!r} does not say which task it is for", "say task='name(arg, …)'")

    def model(self, classical: DomainModel, others: Mapping[str, Task] | None = None) -> HtnDomain:
        """Return the domain; raises the error of the first declaration that does not agree with another.

        `others` are tasks that methods may name besides.
        """
        tasks = {name: task for name, (task, _) in self._tasks.items()}
        words = Vocabulary(classical, self.types, {**(others or {}), **tasks})
        for name, (_, place) in self._tasks.items():
            if name in classical.actions:
                raise place.error(f"task {name!r} is also an action of domain {classical.name!r}", "rename one of them")
        for declared in self._methods.values():
            words.check_head(declared.head)
            for use in declared.conditions:
                words.check_condition(use)
            for use in declared.subtasks:
                words.check_subtask(use)
        methods = {name: declared.method for name, declared in self._methods.items()}
        return HtnDomain(words.extended(), tasks, methods, words.inferred)


def network_of(
    domain: HtnDomain, types: Types, scope: Scope, fields: Mapping[str, Any], places: Mapping[str, Place]
) -> Network:
    """Return the initial network that `fields` describe."""
    draft = NetworkReader(scope, types.parents).read(fields, places)
    words = Vocabulary(domain.classical, types, domain.tasks)
    for use in draft.uses:
        words.check_subtask(use)
    return draft.network
