"""Text of others as it may be shown: without the characters that steer a terminal or turn text round."""

from __future__ import annotations

from planner.annotations import Final

_C0: Final = [*range(0x20), 0x7F]
_C1: Final = [*range(0x80, 0xA0)]
_BIDI: Final = [0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)]
_DROPPED: Final = dict.fromkeys(code for code in (*_C0, *_C1, *_BIDI) if chr(code) not in "\n\t")


def printable(text: str) -> str:
    """Return `text` without C0, C1 and bidirectional controls; line breaks and tabs stay.

    A name or an answer of a tool could else colour, move or hide what a terminal shows, or change its clipboard.
    """
    return text if text.isprintable() and text.isascii() else text.translate(_DROPPED)
