"""Tables, as Markdown for terminals and as data for pages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass


def markdown(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a Markdown table; the first column is aligned left, the others right."""
    lines = [list(head), ["---", *("---:" for _ in head[1:])], *rows]
    return "\n".join("| " + " | ".join(map(_cell, line)) + " |" for line in lines) + "\n"


def _cell(value: object) -> str:
    return " ".join(str(value).replace("|", "\\|").split())


@dataclass(frozen=True, slots=True)
class Table:
    """A head, rows of cells under it, and a row of totals where there is one."""

    head: Sequence[str]
    rows: Sequence[Sequence[object]]
    total: Sequence[object] = ()

    def markdown(self) -> str:
        """Return the table as Markdown, the totals in bold."""
        bold = [[f"**{cell}**" for cell in self.total]] if self.total else []
        return markdown(self.head, [*self.rows, *bold])
