"""What subtasks may name, tasks and actions, and whether their arguments fit."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from htn.model import Task
from planner.annotations import Final
from planner.errors import PddlError
from planner.model import Atom, Variable
from planner.pddl.conditions import read_condition
from planner.pddl.effects import read_effects
from planner.pddl.parts import read_name, read_parts
from planner.pddl.trees import Tree, counted, nearest, quote
from planner.pddl.vocabulary import Vocabulary, wrong_type
from planner.records import dataclass

_KEYS: Final = {":parameters": "variables", ":precondition": "a condition", ":effect": "an effect"}

Bound = Mapping[str, Variable]
"""The variables in scope, by name."""


def read_task(tree: Tree, words: Vocabulary, derived: frozenset[str]) -> Task:
    """Return the compound task that the section `tree` declares.

    The precondition and the effect that some files give for a task are looked at for mistakes and left out: they sum up
    what its methods do, for planners that choose between methods by them (Bercher et al. 2016).
    """
    name = read_name(words.source, tree, "a task")
    parts = read_parts(words.source, tree, 2, _KEYS, f"the task {quote(name)}")
    parameters = words.types.variables(parts.get(":parameters", []))
    scope = {variable.name: variable for variable in parameters}
    read_condition(parts.get(":precondition", []), words, scope)
    read_effects(parts.get(":effect", []), words, scope, derived)
    return Task(name, parameters)


@dataclass(slots=True)
class Heads:
    """The tasks, and perhaps actions, that may stand in one place: their parameters by name.

    `what` says for messages what may stand there, and `hint` how there may be more; `actions` may not stand there.
    """

    words: Vocabulary
    parameters: Mapping[str, tuple[Variable, ...]]
    what: str = "task or action"
    hint: str = "declare it with '(:task …)' or '(:action …)'"
    actions: Collection[str] = ()

    def atom(self, tree: Tree, bound: Bound) -> Atom:
        """Return the task or action with its arguments that `tree` is.

        Raises `PddlError` where it is not declared, for another number of arguments, and for arguments that are not
        known or never of the type that they have to be. One that only may be of another type is no mistake.
        """
        source, name = self.words.source, tree[0]
        parameters = self.parameters.get(name)
        if parameters is None:
            raise self._unknown(tree)
        if len(parameters) != len(tree) - 1:
            message = f"{quote(name)} has {counted(len(tree) - 1, 'argument')} here, expected {len(parameters)}"
            usage = " ".join([name, *map(str, parameters)])
            raise source.error(message, tree, None, f"it is declared as ({usage})")
        terms = read_terms(tree, self.words, bound)
        for index, (term, parameter) in enumerate(zip(terms, parameters, strict=True), start=1):
            self._check_type(tree, index, bound.get(term), parameter.types)
        return Atom(name, terms)

    def _unknown(self, tree: Tree) -> PddlError:
        """Return the error for the name at the head of `tree`, which may not stand there."""
        source, name = self.words.source, tree[0]
        if name in self.actions:
            return source.error(f"{quote(name)} is an action, expected a task", tree, 0, "only tasks have methods")
        if name in self.words.predicates:
            hint = "what has to hold belongs to ':precondition'"
            return source.error(f"{quote(name)} is a predicate, expected a {self.what}", tree, 0, hint)
        hint = nearest(name, self.parameters) or self.hint
        return source.error(f"the {self.what} {quote(name)} is not declared", tree, 0, hint)

    def _check_type(self, tree: Tree, index: int, variable: Variable | None, wanted: tuple[str, ...]) -> None:
        term = tree[index]
        if variable is None:
            self.words.check_type(tree, index, term, wanted)
        elif not self.words.overlap(variable.types, wanted):
            message = wrong_type(term, variable.types, wanted, f"argument {index} of {quote(tree[0])}")
            raise self.words.source.error(message, tree, index, "no object is of both types")


def read_terms(tree: Tree, words: Vocabulary, bound: Bound) -> tuple[str, ...]:
    """Return the arguments of `tree`; raise for variables that are not `bound` and objects that are not known."""
    for index, term in enumerate(tree):
        if index and isinstance(term, str) and term[0] == "?" and term not in bound:
            raise unbound(words, tree, index, bound)
    return words.terms(tree, bound)


def unbound(words: Vocabulary, tree: Tree, index: int, bound: Bound) -> PddlError:
    """Return the error for the variable at item `index` of `tree`, which is not `bound`."""
    hint = nearest(tree[index], bound) or "declare it in ':parameters'"
    return words.source.error(f"the variable {quote(tree[index])} is not bound", tree, index, hint)
