"""Plans that do not work (any more): patched, mended, undone. Problems and steps in, steps out."""

from planner.repair.mending import Mended, mend
from planner.repair.patching import Patch, patch
from planner.repair.undoing import Left, Undo, UndoStep, Written, undo

__all__ = ["Left", "Mended", "Patch", "Undo", "UndoStep", "Written", "mend", "patch", "undo"]
