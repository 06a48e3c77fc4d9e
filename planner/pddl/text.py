"""The text of a PDDL file, whatever wrote it: UTF-8 with or without a mark, UTF-16 with one, Latin-1; and why not."""

from __future__ import annotations

import codecs
import os

from planner.annotations import Final
from planner.errors import InputError, Location, PddlError, did_you_mean

_MARKS: Final = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}

MOST_BYTES: Final = 1 << 28
"""Longer files are no text that somebody wrote, and would take all memory."""
_PART: Final = 1 << 20


def read_text(path: str | os.PathLike[str], error: type[InputError] = PddlError) -> str:
    """Return the text of the file at `path`.

    Raises `error` where there is no such file, where it may not be read, and where it holds no text.
    """
    place = Location(os.fspath(path))
    try:
        data = read_bytes(path)
    except FileNotFoundError:
        raise error("there is no such file", place, _nearest_file(path)) from None
    except IsADirectoryError:
        raise error("this is a folder, and a file was expected", place, "name a file inside it") from None
    except PermissionError:
        raise error("the file may not be read", place, "give yourself permission to read it") from None
    except (OSError, ValueError) as problem:
        raise error(f"the file cannot be read: {problem}", place) from None
    try:
        if data is None:
            raise _TooLongError  # noqa: TRY301 - as below
        return _decode(data)
    except _TooLongError:
        message = f"the file has more than {MOST_BYTES >> 20} MiB"
        raise error(message, place, "domains, problems and plans are shorter") from None
    except UnicodeDecodeError as problem:
        raise error(f"the file is damaged: {problem}", place) from None
    except _NotTextError as problem:
        raise error(f"the file is binary: it has a zero byte at offset {problem}", place, "name a text file") from None


def read_bytes(path: str | os.PathLike[str]) -> bytes | None:
    """Return what the file at `path` holds, up to its first part with a zero byte; None for more than `MOST_BYTES`.

    It is read part by part: between two, a limit or a signal may end the work, whatever never ends.
    """
    data = bytearray()
    with open(path, "rb", buffering=0) as file:  # noqa: PTH123 - a path object would cost more
        while part := file.read(_PART):
            data += part
            if len(data) > MOST_BYTES:
                return None
            if b"\0" in part and not data.startswith(tuple(_MARKS)):
                break
    return bytes(data)


class _TooLongError(Exception):
    """The file is longer than any text that is read."""


class _NotTextError(Exception):
    """The data has a zero byte."""


def _decode(data: bytes) -> str:
    for mark, encoding in _MARKS.items():
        if data.startswith(mark):
            return data.decode(encoding)
    if b"\0" in data:
        raise _NotTextError(data.index(b"\0"))
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def _nearest_file(name: str | os.PathLike[str]) -> str | None:
    from pathlib import Path  # noqa: PLC0415 - only where a name is wrong

    path = Path(name)
    try:
        near = [sibling.name for sibling in path.parent.iterdir() if did_you_mean(path.stem, [sibling.stem])]
        return did_you_mean(path.name, near)
    except (OSError, ValueError):
        return None
