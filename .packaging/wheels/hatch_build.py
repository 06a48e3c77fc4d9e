"""Puts machine code into a wheel and names its platform, where the environment names both; else it is pure Python."""

from __future__ import annotations

import os
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

CODE = "FORETHOUGHT_WHEEL_CODE"
"""The folder with machine code."""
PLATFORM = "FORETHOUGHT_WHEEL_PLATFORM"
"""The platform tag of the wheel."""


class MachineCodeHook(BuildHookInterface[Any]):
    """A build hook of hatchling."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Change what is built; `version` is "standard" or "editable"."""
        if CODE in os.environ and version == "standard":
            build_data["pure_python"] = False
            build_data["tag"] = f"py3-none-{os.environ[PLATFORM]}"
            build_data["force_include"][os.environ[CODE]] = "planner/jit/machine_code"
