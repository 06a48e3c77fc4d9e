"""States by which ways to share costs are judged."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Final

from planner.compiled.accounts import WORK
from planner.compiled.arrays import index, words, zeros
from planner.compiled.board import Board
from planner.compiled.sharing import Sharing
from planner.kernels import numbers as n
from planner.kernels.scp import Samples, Tables

LONGEST: Final = 1000
"""Steps of random walks, on average."""


def samples_of(board: Board, sharing: Sharing, states: Sequence[Sequence[int]], most: int = 0) -> Samples:
    """Return those of the `states`, given by their words, that are not dead, with room for up to `most` of them."""
    parts, width = len(sharing.every), board.packed.words
    found, room = Samples(zeros(3), words([]), index([]), words([])), zeros(1)
    shown = Tables(sharing.lookup, index([0]), index([]), words([]), index([]), index([0]) * (parts + 1))
    for state in states:
        room[:] = words(state)
        if board.entries["place"](shown, room):
            found.state.extend(room)
            found.at.extend(shown.at[:parts])
            found.counts[0] += 1
    length = max(most, found.counts[0])
    found.state.extend(zeros((length + 2) * width - len(found.state)))
    found.at.extend(index([0]) * (length * parts - len(found.at)))
    found.best.extend(words([-1]) * length)
    return found


def walked(board: Board, sharing: Sharing, most: int) -> Generator[None, None, Samples]:
    """Return up to `most` samples: the initial state, and where random walks end; none if that is dead."""
    samples = samples_of(board, sharing, [board.initial], most)
    if not samples.counts[0]:
        return samples
    average = max(1, sum(board.costs) // max(1, board.actions))
    far = max(sharing.values(samples, 0), default=0)
    length = max(2, min(LONGEST, 2 * far // average))
    walk, number = board.entries["walk"], zeros(n.HOW_MANY)
    while not walk(WORK, length, number, board.space, sharing.lookup, samples, board.found, board.stack):
        yield
    return samples
