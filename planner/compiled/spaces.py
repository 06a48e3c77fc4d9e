"""Room for abstract state spaces."""

from __future__ import annotations

from array import array
from typing import Final

from planner.compiled.arrays import index, lengthened
from planner.kernels import projections as kernel
from planner.kernels.abstractions import Abstractions

FEW: Final = 1 << 12
"""Elements for which there is room at first."""


def no_spaces() -> Abstractions:
    """Return room for some spaces."""
    return Abstractions(*(index([0]) * FEW for _ in Abstractions._fields))


def lengthen(spaces: Abstractions, counts: array[int]) -> None:
    """Double the room in `spaces`, of which there is so much, where half is taken, or else everywhere."""
    by_field = {
        "state_start": kernel.ABSTRACTIONS,
        "group_start": kernel.ABSTRACTIONS,
        "edge_start": kernel.STATES,
        "goal": kernel.STATES,
        "source": kernel.EDGES,
        "group": kernel.EDGES,
        "label_start": kernel.GROUPS,
        "loops": kernel.GROUPS,
        "label": kernel.LABELS,
    }
    short = [name for name, place in by_field.items() if 2 * counts[place] > len(getattr(spaces, name))]
    for name in short or by_field:
        lengthened(getattr(spaces, name), 2 * len(getattr(spaces, name)))
