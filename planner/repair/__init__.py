"""Plans that do not work (any more): patched, mended, undone. Problems and steps in, steps out."""

from planner.repair.patching import Patch, patch

__all__ = ["Patch", "patch"]
