"""The options of `ForeignTools`, which every source takes."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, TypedDict

from executor.foreign_tools.tool import ToolLimits


class ToolOptions(TypedDict, total=False):
    """See `ForeignTools`."""

    contracts: str | Path | Mapping[str, Any] | None
    parameters: Mapping[str, Any] | None
    trusted: bool
    prefix: str
    only: Collection[str] | None
    limits: ToolLimits | None
