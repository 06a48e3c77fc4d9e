"""What the relaxation says that a state costs at least, by one of several estimates."""

from __future__ import annotations

from typing import Final, NamedTuple

from planner.kernels.data import INFINITE, Coding, Exploration, Landmarks, Nodes, Registry, Relaxed
from planner.kernels.kernel import Words, entry, kernel
from planner.kernels.lmcut import lm_cut
from planner.kernels.numbers import EVALUATIONS, WORK
from planner.kernels.relaxed import h_max

BLIND: Final = 0
H_MAX: Final = 1
LM_CUT: Final = 2


class Guess(NamedTuple):
    """Room to estimate one state by itself: it is copied to `registry`; LM-cut notes its landmarks in vain."""

    registry: Registry
    nodes: Nodes
    landmarks: Landmarks


@entry
@kernel
def hoped(
    kind: int, number: Words, relaxed: Relaxed, room: Exploration, guess: Guess, coding: Coding, state: Words, base: int
) -> int:
    """Return the estimate `kind` for the state at `state[base]`, `INFINITE` for a dead end."""
    number[EVALUATIONS] += 1
    number[WORK] += len(relaxed.cost) + 20
    if kind == BLIND:
        return 0
    if kind == H_MAX:
        return h_max(relaxed, room, coding, state, base)
    for word in range(len(room.state)):
        guess.registry.state[word] = state[base + word]
    return min(lm_cut(relaxed, room, coding, guess.landmarks, guess.registry, guess.nodes, number, 0), INFINITE)
