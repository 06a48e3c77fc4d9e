"""Faults of a simulated world: their kind, place and number; the same seed gives the same faults."""

from __future__ import annotations

import math
import random
import threading
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final, Literal

from planner.errors import InputError
from planner.language.declare.atom_syntax import NotationError, parse_atom
from planner.model import OPEN, Atom

Source = Literal["handler", "observer", "approval"]


class FaultKind(Enum):
    """Kinds of faults."""

    FAILS = "the handler says that it failed, and has done nothing"
    RAISES = "the handler raises, and has done nothing"
    FAILS_DONE = "the handler says that it failed, though it has acted"
    RAISES_DONE = "the handler raises, though it has acted"
    LIES = "the handler says that it is done, and has done nothing"
    PARTLY = "the handler says that it is done, and some of the effects are missing"
    TWICE = "the handler does it twice"
    LATE = "the handler acts and answers late"
    SLOW = "the handler acts, and answers late"
    HANGS = "the handler does nothing, and never answers"
    HANGS_DONE = "the handler acts, and never answers"
    CRASH_BEFORE = "the process dies before the handler acts"
    CRASH_AFTER = "the process dies when the handler has acted"
    CHANGE_BEFORE = "somebody else changes the world before the handler acts"
    CHANGE_DURING = "somebody else changes the world while the handler is at work"
    CHANGE_AFTER = "somebody else changes the world right after the handler has answered"
    OBSERVER_FAILS = "the observer raises"
    OBSERVER_LATE = "the observer answers late"
    OBSERVER_CANNOT_SAY = "the observer cannot say"
    OBSERVER_WRONG = "the observer says what is not so"
    OBSERVER_DISAGREES = "of two observers of the same facts, the second says what is not so"
    OBSERVER_STRANGER = "the observer names an object that the problem lacks"
    RESULT_STRANGER = "the result of the handler names an object that the problem lacks"
    LISTING_SHORT = "the listing leaves out an item, and says that these are all"
    LISTING_FAILS = "the listing names an item, and says that it failed"
    LISTING_JUNK = "the listing names what cannot be an object"
    APPROVAL_REFUSED = "the approval is refused"
    APPROVAL_LATE = "the approval is given late"
    APPROVAL_RAISES = "the approval raises an error that cannot be printed"
    APPROVAL_UNPRINTABLE = "the approval answers with a value that cannot be printed or compared"

    NUMBER_DRIFTS = "the handler acts, and its numbers come out a little otherwise"
    NUMBER_HALVES = "the handler acts, and its numbers change by half of what they should"
    NUMBER_STAYS = "the handler acts, and its numbers stay as they are"
    NUMBER_JUMPS = "somebody else changes the handler's numbers right after it has answered"

    @property
    def is_of_numbers(self) -> bool:
        """Whether handlers that change numbers have this fault; others work as if there were none."""
        return self.name.startswith("NUMBER_")

    @property
    def is_of_observers(self) -> bool:
        """Whether observers have this fault."""
        return self.name.startswith("OBSERVER_")

    @property
    def is_of_listings(self) -> bool:
        """Whether handlers that list something have this fault; others work as if there were none."""
        return self.name.startswith("LISTING_")

    @property
    def is_of_approvals(self) -> bool:
        """Whether those who approve steps have this fault."""
        return self.name.startswith("APPROVAL_")

    @property
    def source(self) -> Source:
        """Who has the fault."""
        if self.is_of_observers:
            return "observer"
        return "approval" if self.is_of_approvals else "handler"


SECOND: Final = "second"
"""The name of the second observer of the same facts."""
LONG: Final = 3600.0
"""Seconds that exceed every time limit."""


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault of the handlers of the ground actions that `at` covers, or of the observers of the facts that it covers.

    `at` is a name, or a pattern like `move(r1, _, _)`; "" covers everything. The first `skip` calls go well, then the
    fault strikes `times` times (None: always, so that the covered handlers are broken for good), each time with the
    probability `rate`. `seconds` is the delay of late faults: by default an hour, and 0 for a change after a step.
    `skill` is the handler that has the fault; "": all. `facts` are literals that a change from outside makes true;
    without them, the change is a random applicable action. With `apart`, `skip` and `times` count the calls for each
    ground action, or each fact that is looked at, by themselves: what strikes one does not depend on when others come.
    """

    kind: FaultKind
    at: str = ""
    skip: int = 0
    times: int | None = 1
    rate: float = 1.0
    seconds: float | None = None
    skill: str = ""
    facts: tuple[str, ...] = ()
    apart: bool = False

    def __post_init__(self) -> None:
        pattern_of(self.at)
        if self.skip < 0 or (self.times is not None and self.times < 0):
            raise InputError(f"skip and times of a fault are at least 0, not {self.skip} and {self.times}")
        if not (0 <= self.rate <= 1 and 0 <= self.delay < math.inf):
            raise InputError(f"rate is a probability and seconds a time, not {self.rate!r} and {self.seconds!r}")

    @property
    def delay(self) -> float:
        """The delay of late faults in seconds."""
        if self.seconds is None:
            return 0.0 if self.kind in (FaultKind.CHANGE_AFTER, FaultKind.NUMBER_JUMPS) else LONG
        return self.seconds

    @property
    def is_for_good(self) -> bool:
        """Whether the handlers that it covers never work."""
        return self.times is None and self.rate == 1 and not self.skip and self.kind in BREAKING

    def covers(self, name: Atom, skill: str = "") -> bool:
        """Return whether the fault covers `name`, a ground action or a fact."""
        pattern = pattern_of(self.at)
        if self.skill and skill and self.skill != skill:
            return False
        if self.kind is FaultKind.OBSERVER_DISAGREES and skill != SECOND:
            return False
        if pattern is None:
            return True
        places = zip(pattern.args, name.args, strict=False)  # a look may leave arguments open, too
        return pattern.predicate == name.predicate and all(
            mine == each or OPEN in (mine, each) for mine, each in places
        )


BREAKING: Final = frozenset(
    {FaultKind.FAILS, FaultKind.RAISES, FaultKind.LIES, FaultKind.HANGS, FaultKind.CRASH_BEFORE}
    | {FaultKind.LISTING_FAILS, FaultKind.LISTING_JUNK}
)
"""The faults that keep a handler from having any effect."""


def pattern_of(text: str) -> Atom | None:
    """Parse `text`; return None, which covers everything, for "". Raises `InputError` if `text` is no atom."""
    try:
        return parse_atom(text) if text else None
    except NotationError as mistake:
        raise InputError(f"a fault is said to be at {text!r}: {mistake.problem}", hint=mistake.hint) from None


Counted = tuple[int, str]
"""What a count of calls or strikes is about: a fault, by its number, and for one that counts `apart` what is called."""


class Faults:
    """Decides which fault strikes a call; `strikes` counts the strikes of each fault.

    The decision is a function of the seed, the fault and the number of the call alone; for a fault that counts `apart`,
    of what is called and the number of its own call.
    """

    def __init__(self, faults: Iterable[Fault], seed: int, strikes: Counter[Counted]) -> None:
        self.faults = list(faults)
        self.seed = seed
        self.strikes = strikes
        self._calls: Counter[Counted] = Counter()
        self._lock = threading.Lock()

    def strike(self, name: Atom, skill: str = "", *, source: Source = "handler") -> tuple[int, Fault] | None:
        """Return the first fault that strikes this call, with its number."""
        with self._lock:
            struck = [
                (number, fault)
                for number, fault in enumerate(self.faults)
                if fault.kind.source == source and fault.covers(name, skill) and self._strikes(number, name)
            ]
        return struck[0] if struck else None

    def _strikes(self, number: int, name: Atom) -> bool:
        fault, about = self.faults[number], self.about(number, name)
        call = self._calls[about]
        self._calls[about] += 1
        if call < fault.skip or (fault.times is not None and self.strikes[about] >= fault.times):
            return False
        return fault.rate == 1 or self.dice("rate", *about, call).random() < fault.rate

    def about(self, number: int, name: Atom) -> Counted:
        """Return the count in which fault `number` counts a call for `name`."""
        return number, str(name) if self.faults[number].apart else ""

    def dice_of(self, number: int, name: Atom, *about: Any) -> random.Random:
        """Return a random generator that is seeded by the latest strike of fault `number` at `name`, and by `about`."""
        counted = self.about(number, name)
        return self.dice(*counted, self.strikes[counted], *about)

    def dice(self, *about: Any) -> random.Random:
        """Return a random generator that is seeded by `about`."""
        return random.Random(" ".join(map(str, (self.seed, *about))))
