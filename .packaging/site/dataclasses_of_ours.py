"""Tells Griffe that `planner.lightweight.dataclass` decorates as that of the standard library: signatures follow."""

from __future__ import annotations

from typing import Any

import griffe

OURS = "planner.lightweight"


class DataclassesOfOurs(griffe.Extension):
    """Replaces imports of `dataclass` and `field` from `planner.lightweight` by those from `dataclasses`."""

    def on_module_members(self, *, mod: griffe.Module, **_: Any) -> None:
        """Replace the imports of a module."""
        for name in ("dataclass", "field"):
            member = mod.members.get(name)
            if isinstance(member, griffe.Alias) and member.target_path == f"{OURS}.{name}":
                mod.members[name] = griffe.Alias(name, f"dataclasses.{name}", lineno=member.alias_lineno, parent=mod)
                mod.imports[name] = f"dataclasses.{name}"
