"""The tasks that are made so that an argument says that there is no plan."""

from __future__ import annotations

from benchmarks.unsolvable.puzzles import circle, crates, crossing, lamps, line, pegs, ring, tiles
from benchmarks.unsolvable.resources import bridges, colours, cover, packing, tour
from benchmarks.unsolvable.written import Written


def made() -> list[Written]:
    """Return the tasks, small ones and large ones of each kind."""
    return [
        packing(7),
        packing(10),
        cover(6),
        tour(4, 4),
        bridges(10),
        colours(5),
        tiles(3, 3),
        tiles(2, 5),
        lamps(4, (0, 0)),
        lamps(5, (0, 0)),
        line(14, 7),
        ring(16, 7),
        circle(9),
        pegs(4, 5, (0, 0)),
        crates(4, 7, 3),
        crossing(4),
    ]
