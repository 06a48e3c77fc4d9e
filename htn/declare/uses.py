"""Whether tasks, actions and predicates are used as they are declared."""

from __future__ import annotations

from collections.abc import Mapping

from htn.model import Task
from planner.declare.places import Place
from planner.declare.scope import Use
from planner.declare.signatures import Signatures
from planner.declare.types import Types
from planner.declare.words import count, either, plain
from planner.errors import InputError, Location, did_you_mean, with_article
from planner.model import DomainModel, Predicate, Variable
from planner.records import replace


class Vocabulary:
    """What can be named: the actions and predicates of `classical`, and `tasks`.

    Predicates that only conditions of methods use are new, and take what their uses agree on.
    """

    def __init__(self, classical: DomainModel, types: Types, tasks: Mapping[str, Task]) -> None:
        self._classical = classical
        self._types = types
        self._tasks = tasks
        self._new = Signatures("predicate", Predicate)
        self.inferred: dict[str, Location] = {}
        """Where each new predicate is named first."""

    def check_head(self, use: Use) -> None:
        """Raise an error unless `use` is a declared task with arguments that it takes."""
        name = use.atom.predicate
        if name in self._tasks:
            self._check(use, self._tasks[name].parameters, "task")
            return
        if name in self._classical.actions:
            raise use.place.error(
                f"{plain(use.atom)} is an action, which is done as it is", "methods are for declared tasks"
            )
        raise use.place.error(f"there is no task {name!r}", self._near(name, list(self._tasks), "task"))

    def check_subtask(self, use: Use) -> None:
        """Raise an error unless `use` is a declared task or action with arguments that it takes."""
        name = use.atom.predicate
        if name in self._tasks:
            self._check(use, self._tasks[name].parameters, "task")
        elif name in self._classical.actions:
            self._check(use, self._classical.actions[name].step_parameters, "action")
        else:
            near = self._near(name, [*self._tasks, *self._classical.actions], "task or action")
            raise use.place.error(f"there is no task or action {name!r}", near)

    def _near(self, name: str, known: list[str], what: str) -> str:
        near = did_you_mean(name, known)
        if near:
            return near
        if name in self._classical.predicates:
            return f"{name!r} is a predicate: what must hold stands in requires"
        where = f"declare it under 'tasks', or in Python: how.task({name!r}, …)"
        return where if what == "task" or not known else f"declare the {what} first"

    def check_condition(self, use: Use) -> None:
        """Raise an error where `use` does not fit what is known of its predicate."""
        name = use.atom.predicate
        if name in self._classical.predicates:
            self._check(use, self._classical.predicates[name].parameters, "predicate")
            return
        if name in self._tasks or name in self._classical.actions:
            kind = "task" if name in self._tasks else "action"
            raise use.place.error(f"{plain(use.atom)} is a condition, but {name!r} is {with_article(kind)}")
        self._new.check_arities([use])
        self._new.note([use])
        self.inferred.setdefault(name, use.place.location)

    def _check(self, use: Use, parameters: tuple[Variable, ...], kind: str) -> None:
        mistake = self._mistake(use, parameters, kind, use.place)
        if mistake:
            raise mistake

    def _mistake(self, use: Use, parameters: tuple[Variable, ...], kind: str, place: Place) -> InputError | None:
        name, atom = use.atom.predicate, plain(use.atom)
        if len(use.types) != len(parameters):
            wanted = count(len(parameters))
            return place.error(f"{atom} gives {kind} {name!r} {count(len(use.types))}; it takes {wanted}")
        for arg, given, parameter in zip(use.atom.args, use.types, parameters, strict=True):
            fits = self._types.overlap if arg.startswith("?") else self._types.hierarchy.is_a
            if given is not None and not fits(given, parameter.types):
                shown = arg.removeprefix("?")
                wanted = either(parameter.types)
                return place.error(f"{shown!r} in {atom} is {either(given)}, but {kind} {name!r} takes {wanted} there")
        return None

    def extended(self) -> DomainModel:
        """Return the classical domain with the types and predicates that only the hierarchy uses."""
        new = self._new.inferred(self._types)
        more = {name: parents for name, parents in self._types.parents.items() if name not in self._classical.types}
        if not new and not more:
            return self._classical
        types = {**self._classical.types, **more}
        return replace(self._classical, types=types, predicates={**self._classical.predicates, **new})
