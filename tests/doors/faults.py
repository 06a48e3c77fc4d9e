"""What goes wrong: inside the handler that pays, with those who look, or with the host."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Inside = Literal[
    "",
    "raises after",
    "raises before",
    "hangs after",
    "thread acts late",
    "lies",
    "false failure",
    "dies after",
    "dies before",
    "is cancelled after",
    "is cancelled before",
    "is called off",
    "fills the disk",
]


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault; `inside` is what the first call of `pay` meets, and `later` what the calls after it meet.

    `looks`: what is wrong with the observers of `paid`. `host`: whether two ask at once, for the same or for
    something else besides, or a person pays meanwhile. A fault that `needs_sight` is not tried where nobody looks, as
    nobody could know then what happened.
    """

    name: str
    inside: Inside = ""
    looks: Literal["", "slow", "disagree"] = ""
    host: Literal["", "two at once", "two wishes at once", "by hand", "later by hand"] = ""
    needs_sight: bool = False
    needs_journal: bool = False
    later: tuple[Inside, ...] = ()

    @property
    def calls(self) -> tuple[Inside, ...]:
        """What each call of `pay` meets, in their order; "" is nothing."""
        return (self.inside, *self.later)

    def __str__(self) -> str:
        return self.name.replace(" ", "-")


FAULTS = (
    Fault("none"),
    Fault("raises after acting", "raises after"),
    Fault("raises before acting", "raises before"),
    Fault("time-out after acting", "hangs after"),
    Fault("time-out before a thread acts", "thread acts late"),
    Fault("cancelled after acting", "is cancelled after"),
    Fault("cancelled before acting", "is cancelled before"),
    Fault("called off inside", "is called off"),
    Fault("killed after acting", "dies after", needs_journal=True),
    Fault("killed before acting", "dies before", needs_journal=True),
    Fault("lie", "lies", needs_sight=True),
    Fault("false failure", "false failure", needs_sight=True),
    Fault("slow observer", looks="slow", needs_sight=True),
    Fault("slow observer and raises", "raises after", looks="slow", needs_sight=True),
    Fault("disagreeing observers", looks="disagree", needs_sight=True),
    Fault("disk full", "fills the disk", needs_journal=True),
    Fault("two at once", host="two at once"),
    Fault("two at once and raises", "raises after", host="two at once"),
    Fault("two wishes at once", host="two wishes at once"),
    Fault("two wishes at once and raises", "raises after", host="two wishes at once"),
    Fault("done by hand meanwhile", host="by hand", needs_sight=True),
    Fault("done by hand before the answer", host="later by hand", needs_sight=True),
)
"""Every story also asks again, in the same process and in another one: so "asked again" is in each cell."""
