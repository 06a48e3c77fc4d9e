"""The tasks and methods declared for one domain, each with its place; checks that they agree."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from htn.language.declare.network_reader import PARTS, NetworkReader
from htn.model import HtnDomain, Method, Network, Task
from planner.errors import InputError, Location, did_you_mean, with_article
from planner.language.declare.atom_syntax import explain_bad_name, is_atom_name
from planner.language.declare.condition_reader import Conditions
from planner.language.declare.declared_names import Scope, Signatures, Types, Use
from planner.language.declare.fields import Place, check_text, format_count, name_types
from planner.language.declare.known_numbers import require_knowledge
from planner.lightweight import dataclass, replace
from planner.model import Action, DomainModel, Predicate, Variable
from planner.model.domain import may_find_out
from planner.model.formulas import unmarked
from planner.model.object_names import term_type


class Vocabulary:
    """The names that declarations may use: the actions and predicates of `classical`, and `tasks`.

    Predicates that occur only in conditions of methods are new; their uses determine arity and types.
    """

    def __init__(self, classical: DomainModel, types: Types, tasks: Mapping[str, Task]) -> None:
        self._classical = classical
        self._types = types
        self._tasks = tasks
        self._new = Signatures("predicate", Predicate)
        self.inferred: dict[str, Location] = {}
        """Where each new predicate is named first."""

    def check_head(self, use: Use) -> None:
        """Raise an error unless `use` is a declared task with fitting arguments."""
        name = use.atom.predicate
        if name in self._tasks:
            self._check(use, self._tasks[name].parameters, "task")
            return
        if name in self._classical.actions:
            raise use.place.error(
                f"{unmarked(use.atom)} is an action, which is done as it is", "methods are for declared tasks"
            )
        raise use.place.error(f"there is no task {name!r}", self._suggest_name(name, list(self._tasks), "task"))

    def check_subtask(self, use: Use) -> None:
        """Raise an error unless `use` is a declared task or action with fitting arguments."""
        name = use.atom.predicate
        if name in self._tasks:
            self._check(use, self._tasks[name].parameters, "task")
        elif name in self._classical.actions:
            self._check(use, self._classical.actions[name].step_parameters, "action")
        else:
            near = self._suggest_name(name, [*self._tasks, *self._classical.actions], "task or action")
            raise use.place.error(f"there is no task or action {name!r}", near)

    def _suggest_name(self, name: str, known: list[str], what: str) -> str:
        near = did_you_mean(name, known)
        if near:
            return near
        if name in self._classical.predicates:
            return f"{name!r} is a predicate: what must hold stands in requires"
        where = f"declare it under 'tasks', or in Python: how.task({name!r}, …)"
        return where if what == "task" or not known else f"declare the {what} first"

    def check_condition(self, use: Use) -> None:
        """Raise an error if `use` does not fit its predicate."""
        name = use.atom.predicate
        if name in self._classical.predicates:
            self._check(use, self._classical.predicates[name].parameters, "predicate")
            return
        if name in self._tasks or name in self._classical.actions:
            kind = "task" if name in self._tasks else "action"
            raise use.place.error(f"{unmarked(use.atom)} is a condition, but {name!r} is {with_article(kind)}")
        self._new.check_arities([use])
        self._new.note([use])
        self.inferred.setdefault(name, use.place.location)

    def _check(self, use: Use, parameters: tuple[Variable, ...], kind: str) -> None:
        mistake = self._find_mistake(use, parameters, kind, use.place)
        if mistake:
            raise mistake

    def _find_mistake(self, use: Use, parameters: tuple[Variable, ...], kind: str, place: Place) -> InputError | None:
        name, atom = use.atom.predicate, unmarked(use.atom)
        if len(use.types) != len(parameters):
            wanted = format_count(len(parameters))
            return place.error(f"{atom} gives {kind} {name!r} {format_count(len(use.types))}; it takes {wanted}")
        for arg, given, parameter in zip(use.atom.args, use.types, parameters, strict=True):
            fits = self._types.overlap if arg.startswith("?") else self._types.hierarchy.is_a
            if given is not None and not fits(given, parameter.types):
                shown = arg.removeprefix("?")
                wanted = name_types(parameter.types)
                return place.error(
                    f"{shown!r} in {atom} is {name_types(given)}, but {kind} {name!r} takes {wanted} there"
                )
        return None

    def extend(self) -> DomainModel:
        """Return the classical domain with the types and predicates that only the hierarchy uses."""
        new = self._new.inferred(self._types)
        more = {name: parents for name, parents in self._types.parents.items() if name not in self._classical.types}
        if not new and not more:
            return self._classical
        types = {**self._classical.types, **more}
        return replace(self._classical, types=types, predicates={**self._classical.predicates, **new})


FIELDS: Final = ("task", "requires", *PARTS, "description")
"""The fields of a method besides its name and parameters."""
_RENAME: Final = "rename one of them"


@dataclass(frozen=True, slots=True)
class _Declared:
    method: Method
    place: Place
    head: Use
    conditions: tuple[Use, ...]
    subtasks: tuple[Use, ...]


class Hierarchy:
    """Collects tasks and methods; `model()` checks them against each other, and returns the immutable domain."""

    def __init__(self) -> None:
        self.types = Types()
        self._tasks: dict[str, tuple[Task, Place]] = {}
        self._methods: dict[str, _Declared] = {}

    def know(self, classical: DomainModel, place: Place) -> None:
        """Add the types that the classical domain has by now."""
        new = {name: parents for name, parents in classical.types.items() if name not in self.types}
        if new:
            self.types.declare(new, place)

    def task(self, name: str, parameters: tuple[Variable, ...], place: Place, description: str = "") -> Task:
        """Add a compound task."""
        if not is_atom_name(name):
            raise place.error(*explain_bad_name(name, "a task"))
        if name in self._tasks:
            raise place.error(f"task {name!r} is already declared at {self._tasks[name][1].location}", _RENAME)
        found = Task(name, parameters, check_text(description, "a description", place.within("description")))
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
        """Add a method, unless it has a mistake. `fields` are those of `FIELDS`."""
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
        description = check_text(fields.get("description", ""), "a description", place.within("description"))
        method = Method(name, head, parameters, precondition, draft.network, description)
        self._methods[name] = _Declared(method, place, draft.uses[0], tuple(scope.uses), draft.uses[1:])
        return method

    def forget_method(self, name: str) -> None:
        """Remove the method `name`."""
        del self._methods[name]

    def _check_method(self, name: str, fields: Mapping[str, Any], place: Place) -> None:
        if not is_atom_name(name):
            raise place.error(*explain_bad_name(name, "a method"))
        if name in self._methods:
            raise place.error(f"method {name!r} is already declared at {self._methods[name].place.location}", _RENAME)
        for field in fields:
            if field not in FIELDS:
                raise place.error(f"a method has no field {field!r}", did_you_mean(field, FIELDS))
        if fields.get("task") is None:
            raise place.error(f"method {name!r} does not say which task it is for", "say task='name(arg, …)'")

    def model(self, classical: DomainModel, others: Mapping[str, Task] | None = None) -> HtnDomain:
        """Return the domain. Raises the error of the first declaration that contradicts another.

        `others` are further tasks that methods may name.
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
        if may_find_out(classical):
            methods = {
                name: replace(method, precondition=require_knowledge(method.precondition, classical))
                for name, method in methods.items()
            }
        return HtnDomain(words.extend(), tasks, methods, words.inferred)


def read_network(
    domain: HtnDomain, types: Types, scope: Scope, fields: Mapping[str, Any], places: Mapping[str, Place]
) -> Network:
    """Return the initial network that `fields` describe."""
    if any(map(term_type, scope.objects)):
        heads: dict[str, Action | Task] = {**domain.classical.actions, **domain.tasks}
        places_of = {name: [each.types for each in head.parameters] for name, head in heads.items()}
        scope = replace(scope, places=lambda name: places_of.get(name, ()))
    draft = NetworkReader(scope, types.parents).read(fields, places)
    words = Vocabulary(domain.classical, types, domain.tasks)
    for use in draft.uses:
        words.check_subtask(use)
    return draft.network
