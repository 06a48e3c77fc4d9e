"""Where Python code declares a part of a hierarchy."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from types import FrameType
from typing import Any, Final

from planner.declare.places import CodePlace

_OURS: Final = ("htn.declare", "planner.declare")


def caller() -> CodePlace:
    """Return the line outside these packages from which the declaration was called."""
    frame = _outside()
    return CodePlace(frame.f_code.co_filename, frame.f_lineno)


def caller_names() -> Mapping[str, Any]:
    """Return the local names where the declaration was called: annotations may name classes made in a function."""
    return _outside().f_locals


def _outside() -> FrameType:
    frame = sys._getframe(1)  # noqa: SLF001 - the documented way to a caller's line
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(_OURS):
        frame = frame.f_back
    return frame
