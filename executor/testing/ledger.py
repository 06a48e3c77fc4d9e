"""What happened in a simulated world, in a file, so that the world outlives the process that acts in it."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from executor.testing.virtual import current, now
from planner.model import Atom

if TYPE_CHECKING:
    from executor.testing.truth import Act


class Ledger:
    """A file with a line of JSON for everything that happened, in the order in which it did."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def write_act(self, act: Act) -> None:
        """Add what was done to the world."""
        facts = {name: [_row(each) for each in getattr(act, name)] for name in ("added", "removed", "written")}
        step = None if act.step is None else _row(act.step)
        self._write({**asdict(act), **facts, "step": step, "at": time.time()})

    def write_strike(self, fault: int) -> None:
        """Add that the fault of this number struck."""
        self._write({"strike": fault})

    def strikes(self) -> Iterator[int]:
        """Yield the numbers of the faults that struck."""
        return (line["strike"] for line in self._lines() if "strike" in line)

    def acts(self) -> Iterator[dict[str, Any]]:
        """Yield the fields of every act, times as a loop counts them that begins now, or has begun."""
        offset = (0.0 if current() is None else now()) - time.time()
        for line in self._lines():
            if "strike" not in line:
                facts = {name: tuple([_atom(each) for each in line[name]]) for name in ("added", "removed", "written")}
                step = None if line["step"] is None else _atom(line["step"])
                created = tuple([tuple(each) for each in line["created"]])
                yield {**line, **facts, "step": step, "created": created, "at": line["at"] + offset}

    def _write(self, data: dict[str, Any]) -> None:
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(data) + "\n")

    def _lines(self) -> Iterator[dict[str, Any]]:
        if self._path.exists():
            yield from map(json.loads, self._path.read_text(encoding="utf-8").splitlines())


def _row(atom: Atom) -> list[str]:
    return [atom.predicate, *atom.args]


def _atom(row: list[str]) -> Atom:
    return Atom(row[0], tuple(row[1:]))
