"""The refused pairs of each service, as one table: a refusal that goes away or comes in fails a test.

`python -m pairs.matrix --service solve --write-refusals` writes what it sees to the table.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

TABLE = Path(__file__).with_name("refusals.json")


def read_refusals() -> dict[str, frozenset[frozenset[str]]]:
    """Return the refused pairs by service; services that are not in the table have not been recorded."""
    table = json.loads(TABLE.read_text()) if TABLE.exists() else {}
    return {
        service: frozenset(frozenset((one, other)) for one, others in found.items() for other in others)
        for service, found in table.items()
    }


def write_refusals(service: str, refused: Iterable[tuple[str, ...]]) -> None:
    """Replace the refused pairs of one service in the table."""
    table = json.loads(TABLE.read_text()) if TABLE.exists() else {}
    found: dict[str, list[str]] = {}
    for one, other in sorted(refused):
        found.setdefault(one, []).append(other)
    table[service] = found
    lines = [f'  "{name}": {{{_write_rows(rows)}\n  }}' for name, rows in sorted(table.items())]
    TABLE.write_text("{\n" + ",\n".join(lines) + "\n}\n")


def _write_rows(rows: dict[str, list[str]]) -> str:
    return ",".join(f'\n    "{one}": {json.dumps(others)}' for one, others in sorted(rows.items()))
