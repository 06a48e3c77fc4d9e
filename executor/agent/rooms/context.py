"""What was said in a room, as parts of a request to a model; and answers that need no model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from executor.agent.rooms.record import RoomRecord
from executor.language.protocol import Origin, Part

YES: Final = frozenset({"yes", "y", "ok", "okay", "sure", "do it", "go ahead", "right", "yes please", "that is right"})
NO: Final = frozenset({"no", "n", "nope", "do not", "don't", "cancel", "forget it", "never mind", "no thanks"})
NEW: Final = frozenset({"new", "a new one", "create it", "make it", "it is new", "they are new", "yes, new"})
STOP: Final = frozenset({"stop", "stop it", "halt", "wait", "pause", "hold on"})
GO_ON: Final = frozenset({"go on", "continue", "resume", "carry on", "proceed"})
ORDINALS: Final = ("first", "second", "third", "fourth", "fifth")
HOW: Final = """\
Something is being done already. Say in 'relation' whether the user asks for something besides it (also), in its place
(instead), or for something that is for itself (alone). In each case, give the goal of what is asked for now."""


def context_of(record: RoomRecord, doing: str | None) -> Iterator[Part]:
    """Yield what was said before the last turn, and what is being done, in words."""
    for turn in record.turns[:-1]:
        is_user = turn.who == "user"
        title = "The user said before" if is_user else "You said"
        yield Part(title, turn.text, Origin.USER if is_user else Origin.DECLARED)
    if doing is not None:
        yield Part("What is being done", f"{doing}\n{HOW}")


def decision(text: str) -> bool | None:
    """Return whether `text` says yes, or no; None where it says something else."""
    plain = _plain(text)
    return True if plain in YES else False if plain in NO else None


def is_stop(text: str) -> bool:
    """Return whether `text` asks to stop for now."""
    return _plain(text) in STOP


def is_go_on(text: str) -> bool:
    """Return whether `text` asks to go on with what was stopped."""
    return _plain(text) in GO_ON


def is_new(text: str) -> bool:
    """Return whether `text` says that what was named is new."""
    return _plain(text) in NEW


def chosen(text: str, words: Sequence[str]) -> int | None:
    """Return which of several readings `text` takes, by number or by its words; None where it is none of them."""
    plain = _plain(text).removeprefix("number ").removeprefix("the ").removesuffix(" one")
    if plain in ORDINALS[: len(words)]:
        return ORDINALS.index(plain)
    if plain.isdecimal() and 1 <= int(plain) <= len(words):
        return int(plain) - 1
    found = [place for place, each in enumerate(words) if _plain(each) == plain]
    return found[0] if len(found) == 1 else None


def _plain(text: str) -> str:
    return " ".join(text.casefold().split()).strip(" .!?")
