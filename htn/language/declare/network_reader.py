"""Reads subtasks and orderings, as authors write them, into task networks."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from graphlib import CycleError
from itertools import pairwise
from typing import Any, Final

from htn.model import Network, Subtask, linearise
from planner.errors import PddlError, did_you_mean
from planner.language.declare.action_parameters import Parameters
from planner.language.declare.atom_syntax import NotationError, abbreviate, explain_bad_name, parse_atom
from planner.language.declare.condition_reader import Conditions
from planner.language.declare.declared_names import Scope, Use
from planner.language.declare.fields import Place
from planner.language.declare.marks import PredicateRef
from planner.lightweight import dataclass, replace
from planner.model import OPEN, TRUE, Atom, Equals, Formula, Not, Variable
from planner.model.formulas import conjunction, conjuncts, substitute, unmarked
from planner.model.object_names import is_name, protect_quoted

PARTS: Final = ("subtasks", "ordered", "ordering", "constraints")
"""The fields of a network."""
_LABELLED: Final = re.compile(r"\s*(\S+?)\s*:\s+(?=\S)")


@dataclass(frozen=True, slots=True)
class Draft:
    """A network with resolved names; `uses` are its tasks with the types of their arguments and their places."""

    network: Network
    uses: tuple[Use, ...]


class NetworkReader:
    """Reads the tasks of one method or problem, with the names of `scope`."""

    def __init__(self, scope: Scope, known_types: Iterable[str], *, exact: bool = False) -> None:
        self._scope = scope
        self._uses: list[Use] = []
        self._bare = not exact
        self._conditions = Conditions(replace(scope, uses=[]), known_types, exact=exact)

    def read(self, fields: Mapping[str, Any], places: Mapping[str, Place]) -> Draft:
        """Read the network of the fields of `PARTS`, each with its own place.

        Without a declared order, the tasks are a sequence.
        """
        found = self._read_subtasks(fields.get("subtasks"), places["subtasks"])
        ordered, ordering = fields.get("ordered"), fields.get("ordering")
        in_order = self._read_ordered(ordered, places["ordered"])
        pairs: list[tuple[int, int]] = []
        if ordering is not None:
            if ordered:
                raise places["ordered"].error("the tasks are ordered, and an ordering is given", "say one of the two")
            pairs = _read_ordering(ordering, found, places["ordering"])
        elif in_order:
            pairs = list(pairwise(range(len(found))))
        limits = self._read_constraints(fields.get("constraints"), places["constraints"])
        return Draft(Network(found, tuple(dict.fromkeys(pairs)), limits), tuple(self._uses))

    @staticmethod
    def _read_ordered(ordered: Any, place: Place) -> bool:
        if ordered is not None and not isinstance(ordered, bool):
            raise place.error(f"ordered is true or false, not {abbreviate(ordered)}")
        return ordered is not False

    def _read_subtasks(self, value: Any, place: Place) -> tuple[Subtask, ...]:
        if value is None:
            return ()
        if isinstance(value, str | Atom | Subtask):
            return (self._read_subtask(value, place),)
        if not isinstance(value, Iterable) or isinstance(value, Mapping):
            raise place.error(f"{abbreviate(value)} are no subtasks", "give a list: ['name(arg, …)', …]")
        found = [self._read_subtask(item, place.within(index)) for index, item in enumerate(value)]
        labels: set[str] = set()
        for index, each in enumerate(found):
            if each.label in labels:
                raise place.within(index).error(f"two subtasks have the label {each.label!r}", "rename one of them")
            labels |= {each.label} - {""}
        return tuple(found)

    def _read_subtask(self, item: Any, place: Place) -> Subtask:
        label, task = "", item
        if isinstance(item, Subtask):
            label, task = item.label, item.task
        elif isinstance(item, str):
            label, task = _split_label(item, place)
        return Subtask(self.task(task, place), label)

    def task(self, value: Any, place: Place) -> Atom:
        """Read the task `value`, resolve its arguments, and record its use."""
        if isinstance(value, PredicateRef):
            raise place.error(f"'{value}' is a name, not a task with its arguments", f"call it: {value}(…)")
        if isinstance(value, Atom):
            return self._resolve(value, place, bare=self._bare)
        if not isinstance(value, str):
            raise place.error(f"{abbreviate(value)} is no task", "write 'name(arg, …)'")
        if value.lstrip().startswith("("):
            return self._resolve(_parse_pddl(value, place), place, bare=False)
        return self._resolve(_parse_task(value, place), place, bare=self._bare)

    def _resolve(self, task: Atom, place: Place, *, bare: bool) -> Atom:
        if OPEN in task.args:
            hint = "name the object, or a further parameter: any object of its type will do"
            raise place.error(f"'_' leaves an argument of the task {unmarked(task)} open", hint)
        before = len(self._scope.uses)
        resolved = self._scope.atom(task, place, bare=bare)
        self._uses.extend(self._scope.uses[before:])
        del self._scope.uses[before:]
        return resolved

    def _read_constraints(self, value: Any, place: Place) -> Formula:
        if not isinstance(value, list | tuple):
            return self._read_constraint(value, place)
        parts = [self._read_constraint(each, place.within(index)) for index, each in enumerate(value)]
        return conjunction(parts) if parts else TRUE

    def _read_constraint(self, value: Any, place: Place) -> Formula:
        found = self._conditions.formula(value, place)
        for part in conjuncts(found):
            if not isinstance(part.part if isinstance(part, Not) else part, Equals):
                said = abbreviate(unmarked(part) if isinstance(part, Atom) else str(part))
                raise place.error(
                    f"a constraint says that two terms are equal or not, and {said} does not",
                    "write a == b or a != b here, and what must hold in the state in requires",
                )
        return found


def _split_label(text: str, place: Place) -> tuple[str, str]:
    """Return the label of a subtask, or "", and the rest of `text`."""
    labelled = _LABELLED.match(protect_quoted(text)[0])
    if labelled is None:
        return "", text
    if not is_name(labelled[1]):
        raise place.error(*explain_bad_name(labelled[1], "a subtask"))
    return labelled[1], text[labelled.end() :]


def _parse_pddl(text: str, place: Place) -> Atom:
    """Parse a task in PDDL syntax, which distinguishes parameters from objects of the same name."""
    from planner.language.pddl import parse_condition

    plain, terms = protect_quoted(text)
    try:
        found = substitute(parse_condition(plain, source=str(place.location)), terms)
    except PddlError as error:
        raise place.error(f"{error.message}, in {abbreviate(text.strip())}", error.hint) from None
    if not isinstance(found, Atom):
        raise place.error(f"{abbreviate(text.strip())} is no task", "a task is written name(arg, …)")
    return found


def _parse_task(text: str, place: Place) -> Atom:
    try:
        return parse_atom(text)
    except NotationError as mistake:
        if text.split()[:1] == ["not"]:
            raise place.error(f"{abbreviate(text.strip())} is no task", "a task is written name(arg, …)") from None
        hint = mistake.hint and _reword_for_tasks(mistake.hint.partition(", or a PDDL")[0])
        raise place.error(_reword_for_tasks(mistake.problem), hint) from None


def _reword_for_tasks(said: str) -> str:
    """Replace atoms by tasks in a message; both have the same syntax."""
    return re.sub(r"\b(no|one|of) atom(s?)\Z", r"\1 task\2", said).replace("an atom", "a task")


def _read_ordering(value: Any, subtasks: tuple[Subtask, ...], place: Place) -> list[tuple[int, int]]:
    """Read an ordering, pairs of labels or texts `a < b`, as pairs of places."""
    if not isinstance(value, list | tuple):
        raise place.error(f"ordering is a list of pairs of labels, not {abbreviate(value)}", "write [('a', 'b'), …]")
    labels = {each.label: number for number, each in enumerate(subtasks) if each.label}
    found = []
    for index, item in enumerate(value):
        here = place.within(index)
        names = _split_ordering(item)
        if not isinstance(names, list | tuple) or len(names) < 2 or not all(isinstance(each, str) for each in names):
            raise here.error(f"{abbreviate(item)} orders no subtasks", "write a pair of labels: ('a', 'b'), or 'a < b'")
        for name in names:
            if name not in labels:
                raise _unknown_label(name, labels, here)
        found.extend([(labels[one], labels[other]) for one, other in pairwise(names)])
    try:
        linearise(len(subtasks), found)
    except CycleError as error:
        names = [subtasks[number].label for number in error.args[1]]
        first = names.index(min(names))
        circle = [*names[first:-1], *names[:first], names[first]]
        raise place.error(f"the ordering runs in a circle: {' < '.join(circle)}", "remove one of them") from None
    return found


def _split_ordering(item: Any) -> Any:
    """Return the labels in `a < b`, also if that is the only item of a list; return other values unchanged."""
    text = item[0] if isinstance(item, list | tuple) and len(item) == 1 else item
    return [name.strip() for name in text.split("<")] if isinstance(text, str) else item


def _unknown_label(name: str, labels: Mapping[str, int], place: Place) -> Exception:
    near = did_you_mean(name, labels)
    if not near:
        near = f"the labels are {', '.join(labels)}" if labels else f"label the subtasks: '{name}: name(arg, …)'"
    return place.error(f"no subtask has the label {name!r}", near)


def check_planning(read: Parameters, owner: str, place: Place) -> tuple[Variable, ...]:
    """Return the parameters that search binds. Raises an error for other parameters."""
    if read.data:
        name = read.data[0].name
        raise place.error(
            f"parameter {name!r} of {owner} is data, which search does not bind",
            "its parameters are of planning types: a class derived from Entity, or the name of a type",
        )
    return read.planning
