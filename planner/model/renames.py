"""The names that the declarations of a domain had in its earlier versions."""

from __future__ import annotations

from collections.abc import Mapping

from planner.lightweight import dataclass, field


@dataclass(frozen=True, slots=True)
class Renames:
    """Earlier names of declarations; each mapping goes from an earlier name to the present one.

    `parameters` has such a mapping for each action, by the present name of the action. An action or a parameter that
    maps to None is *lost*: this version has nothing in its place, on purpose.
    """

    types: Mapping[str, str] = field(default_factory=dict)
    actions: Mapping[str, str | None] = field(default_factory=dict)
    parameters: Mapping[str, Mapping[str, str | None]] = field(default_factory=dict)

    @property
    def is_any(self) -> bool:
        """Whether any declaration had another name."""
        return bool(self.types or self.actions or self.parameters)

    def to_dict(self) -> dict[str, Mapping[str, object]]:
        """Return the earlier names as documents have them, by kind of declaration; kinds without any are left out."""
        kinds = {"types": self.types, "actions": self.actions, "parameters": self.parameters}
        return {kind: names for kind, names in kinds.items() if names}

    def find_first_name(self, action: str) -> str:
        """Return the earliest name of `action`: the one that was declared first."""
        return next((old for old, new in self.actions.items() if new == action), action)

    def find_first_parameter(self, action: str, parameter: str) -> str:
        """Return the earliest name of a `parameter` of `action`."""
        return next(iter(self.list_earlier_parameters(action, parameter)), parameter)

    def list_earlier_parameters(self, action: str, parameter: str) -> list[str]:
        """Return the earlier names of a `parameter` of `action`, the earliest first."""
        return [old for old, new in self.parameters.get(action, {}).items() if new == parameter]


NO_RENAMES = Renames()
