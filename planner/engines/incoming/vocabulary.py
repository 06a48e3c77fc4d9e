"""The names that a unified-planning problem's elements have in the model: unique, and remembered both ways."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from planner.engines.names import Names, model_name, variable_name
from planner.model import ROOT_TYPE, Variable

if TYPE_CHECKING:
    from unified_planning.model import Fluent, Object, Type


class Vocabulary:
    """Elements of one problem on the one side, names of the model on the other."""

    def __init__(self, user_types: list[Type]) -> None:
        self.actions: Names[Any] = Names(model_name)
        self.objects: Names[Object] = Names(model_name)
        self.fluents: Names[Fluent] = Names(model_name)
        self._types: Names[Type] = Names(model_name, [ROOT_TYPE])
        self._variables: Names[Any] = Names(variable_name)
        self._root = _common_root(user_types)

    def type(self, user_type: Type) -> str:
        """Return the name of `user_type`; a type above all others is the model's root type."""
        return ROOT_TYPE if user_type == self._root else self._types.of(user_type, user_type.name)

    def variable(self, role: str, name: str, user_type: Type) -> Variable:
        """Return the variable called `name`; those of another `role` (parameter, variable) or type are others."""
        return Variable(self._variables.of((role, name, user_type), name), (self.type(user_type),))

    def fresh(self, key: object, wish: str, user_type: Type) -> Variable:
        """Return the variable that stands for `key`, whatever that is."""
        return Variable(self._variables.of(("value", key), wish), (self.type(user_type),))


def _common_root(user_types: list[Type]) -> Type | None:
    roots = [user_type for user_type in user_types if user_type.father is None]
    return roots[0] if len(roots) == 1 and roots[0].name == ROOT_TYPE else None
