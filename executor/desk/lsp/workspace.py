"""The texts of a workspace: those open in the editor, and the files beside them that belong to the same domain."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from executor.desk.lsp.names import Index, Kind, Occurrence
from executor.desk.lsp.pddl_names import index_pddl
from executor.desk.lsp.yaml_names import index_yaml

PDDL: Final = frozenset({".pddl", ".hddl"})
DOCUMENTS: Final = frozenset({".yaml", ".yml", ".json"})
LARGEST: Final = 2_000_000
"""Bytes of the largest file beside an open one that is read."""
AT_ONCE: Final = 100_000
"""Characters of the longest text that is indexed when it changes (0.1 s); others are, before they are checked."""
MOST_FILES: Final = 200
"""Files of a folder that are looked at."""


def read_index(path: Path, text: str) -> Index | None:
    """Return the index of `text`, by the ending of the file's name; None where it cannot be read, or is not ours."""
    if path.suffix.lower() in PDDL:
        return index_pddl(text)
    try:
        return index_yaml(text)
    except Exception:  # noqa: BLE001 - an unfinished text makes the parser stumble in many ways
        return None


class Texts:
    """The texts that the server knows, by path, each with its index."""

    def __init__(self) -> None:
        self._open: dict[Path, str] = {}
        self._indices: dict[Path, Index] = {}
        self._files: dict[Path, tuple[int, Index | None]] = {}

    def put(self, path: Path, text: str) -> None:
        """Take `text` for that of an open file; while it cannot be read, or waits for that, its last index stays."""
        self._open[path] = text
        if len(text) <= AT_ONCE:
            self.refresh(path)

    def refresh(self, path: Path) -> None:
        """Read the index of an open file if it is that of an earlier text; other threads may put texts meanwhile."""
        text = self._open.get(path)
        if text is None or not self.is_stale(path):
            return
        index = read_index(path, text)
        if index is not None and self._open.get(path) is text:
            self._indices[path] = index

    def close(self, path: Path) -> None:
        """Forget an open text: its file counts again."""
        self._open.pop(path, None)
        self._indices.pop(path, None)

    @property
    def paths(self) -> list[Path]:
        """The open files."""
        return list(self._open)

    def text(self, path: Path) -> str | None:
        """Return the text of an open file, or of a file on the disk; None where there is none."""
        if path in self._open:
            return self._open[path]
        try:
            return path.read_text(encoding="utf-8", errors="replace") if path.stat().st_size <= LARGEST else None
        except OSError:
            return None

    def index(self, path: Path) -> Index | None:
        """Return the index of a file; None where it cannot be read."""
        if path in self._open:
            return self._indices.get(path)
        try:
            changed = path.stat().st_mtime_ns
        except OSError:
            return None
        known = self._files.get(path)
        if known is None or known[0] != changed:
            text = self.text(path)
            known = changed, None if text is None else read_index(path, text)
            self._files[path] = known
        return known[1]

    def is_stale(self, path: Path) -> bool:
        """Return whether the index of an open file is that of an earlier text."""
        index = self._indices.get(path)
        return path in self._open and (index is None or index.text != self._open[path])

    def _beside(self, path: Path) -> Iterator[Path]:
        endings = PDDL if path.suffix.lower() in PDDL else DOCUMENTS
        try:
            files = sorted(each for each in path.parent.iterdir() if each.suffix.lower() in endings)
        except OSError:
            files = []
        yield from files[:MOST_FILES]
        yield from (each for each in self._open if each not in files and each.suffix.lower() in endings)

    def related(self, path: Path) -> dict[Path, Index]:
        """Return the indices of `path` and of the files that name the same domain, that of the domain first."""
        own = self.index(path)
        if own is None:
            return {}
        found = {path: own}
        if own.domain_name:
            for other in self._beside(path):
                index = self.index(other)
                if other != path and index is not None and index.domain_name == own.domain_name:
                    found[other] = index
        return dict(sorted(found.items(), key=lambda each: not each[1].declares_domain))

    def domain_of(self, path: Path) -> Path | None:
        """Return the file that declares the domain of `path`: itself, or one beside it."""
        return next((each for each, index in self.related(path).items() if index.declares_domain), None)

    def occurrences(self, path: Path, wanted: Occurrence) -> Iterator[tuple[Path, Index, Occurrence]]:
        """Yield where the name that stands at `wanted` in `path` stands, in all files of the domain."""
        for other, index in self.related(path).items():
            if other == path or wanted.kind is not Kind.VARIABLE:
                yield from ((other, index, each) for each in index.same_as(wanted))
