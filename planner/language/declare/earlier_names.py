"""Collect and check the names that declarations had in earlier versions of their domain."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Final

from planner.errors import did_you_mean
from planner.language.declare.declared_names import Types
from planner.language.declare.fields import Place, check_mapping, check_text, check_texts
from planner.model import Action, Renames

_KINDS: Final = {"types": "type", "actions": "action"}
"""The kinds of declarations, and one of each in words."""


class EarlierNames:
    """The earlier names of one domain; `make` checks them against its declarations."""

    def __init__(self) -> None:
        self._found: dict[str, dict[str, str | None]] = {kind: {} for kind in _KINDS}
        self._parameters: dict[str, dict[str, str | None]] = {}
        self._places: dict[tuple[str, str], Place] = {}

    def read(self, value: Any, place: Place) -> None:
        """Add the earlier names in `value`, such as `{"types": {"Bill": "Order"}, "parameters": {"pay": {…}}}`."""
        for kind, names in check_mapping(value, "was", place).items():
            here = place.within(kind)
            if kind == "parameters":
                for action, parameters in check_mapping(names, kind, here).items():
                    self._add_parameters(action, parameters, here.within(action))
            elif kind in _KINDS:
                for old, new in check_mapping(names, kind, here).items():
                    self.add(kind, old, new, here.within(old))
            else:
                near = did_you_mean(kind, [*_KINDS, "parameters"]) or f"it has {', '.join(_KINDS)} and parameters"
                raise here.error(f"'was' has no {kind!r}", near)

    def add(self, kind: str, old: str, new: str | None, place: Place) -> None:
        """Add one earlier name; an action may map to None: it is lost."""
        if new is not None or kind != "actions":
            check_text(new, f"what the {_KINDS[kind]} {old!r} is called now", place)
        if old in self._found[kind]:
            raise place.error(f"the earlier {_KINDS[kind]} {old!r} is declared twice")
        self._found[kind][old] = new
        self._places[kind, old] = place

    def add_all(self, kind: str, earlier: Any, new: str, place: Place) -> None:
        """Add one earlier name of `new`, or several with the oldest first."""
        for old in check_texts(earlier, "earlier names", place):
            self.add(kind, old, new, place)

    def _add_parameters(self, action: str, parameters: Any, place: Place) -> None:
        found = self._parameters.setdefault(action, {})
        for old, new in check_mapping(parameters, "parameters", place).items():
            here = place.within(old)
            found[old] = None if new is None else check_text(new, f"what the parameter {old!r} is called now", here)
            self._places[action, old] = here

    def make(self, types: Types, actions: Mapping[str, Action]) -> Renames:
        """Return the earlier names; raises `DeclarationError` for one that does not fit the declarations."""
        for cls in types.classes.values():
            self._found["types"] |= dict.fromkeys(cls.earlier_names, cls.type_name)
        for kind, known in (("types", types.parents), ("actions", actions)):
            self._check(kind, known)
        for name, parameters in self._parameters.items():
            self._check_parameters(name, parameters, actions)
        told: Any = self._found
        return Renames(told["types"], told["actions"], self._parameters)

    def _check(self, kind: str, known: Collection[str]) -> None:
        what = _KINDS[kind]
        for old, new in self._found[kind].items():
            place = self._places.get((kind, old))
            if place is None:  # of a class, which is declared where it is used
                continue
            if old in known:
                raise place.error(f"{old!r} cannot be an earlier name: this version declares the {what} {old!r}")
            if new is not None and new not in known:
                found = f"the {what} {old!r} is called {new!r} now, and there is none"
                raise place.error(found, did_you_mean(new, known))

    def _check_parameters(self, name: str, parameters: Mapping[str, str | None], actions: Mapping[str, Action]) -> None:
        for old, new in parameters.items():
            place = self._places[name, old]
            if name not in actions:
                raise place.error(f"there is no action {name!r} with earlier parameters", did_you_mean(name, actions))
            action = actions[name]
            known = [each.name for each in action.data]
            known += [each.name.removeprefix("?") for each in action.step_parameters]
            if old in known:
                raise place.error(f"{old!r} cannot be an earlier name: {name!r} has a parameter {old!r}")
            if new is not None and new not in known:
                hint = did_you_mean(new, known) or f"it has {', '.join(known)}"
                raise place.error(f"{name!r} has no parameter {new!r}", hint)
