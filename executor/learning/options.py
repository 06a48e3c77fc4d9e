"""How much is made of what was seen: priors, what is told apart, and what is tried to find out more."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final, get_args

from executor.learning.chances import Explore
from executor.world.policy import is_amount
from planner.errors import InputError, did_you_mean

_WAYS: Final = get_args(Explore)


@dataclass(frozen=True, slots=True)
class Learning:
    """How declared probabilities are changed by what was seen.

    `by` names the parameters of actions whose objects are told apart: `{"call": ["tool"]}`. What an action declares
    counts as `weight` observations, and what was seen of all other objects as `pooling` more of each that is told
    apart. `explore` is "optimistic": risks are the least that they may be with this `confidence`; "sample": they are
    drawn from what they may be (Thompson 1933), anew after each observation; None: they are means, by which what looked
    worse once is hardly ever tried again. The `seed` determines what is drawn.
    """

    by: Mapping[str, Sequence[str]] = field(default_factory=lambda: MappingProxyType({}))
    weight: float = 2.0
    pooling: float = 1.0
    explore: Explore | None = None
    confidence: float = 0.9
    seed: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "by", MappingProxyType(_names(self.by)))
        for name in ("weight", "pooling"):
            if not is_amount(getattr(self, name)):
                raise InputError(f"{name} is a number of observations, 0 or more, not {getattr(self, name)!r}")
        if not (is_amount(self.confidence) and 0 < self.confidence < 1):
            raise InputError(f"confidence is a probability between 0 and 1, not {self.confidence!r}")
        if self.explore is not None and self.explore not in _WAYS:
            hint = did_you_mean(str(self.explore), _WAYS) or f"say one of {', '.join(_WAYS)}, or None"
            raise InputError(f"there is no way to explore {self.explore!r}", hint=hint)


def _names(by: object) -> dict[str, tuple[str, ...]]:
    """Return which parameters of which actions are told apart; raises `InputError` for what says nothing of that."""
    found: dict[str, tuple[str, ...]] = {}
    for action, names in by.items() if isinstance(by, Mapping) else [("", by)]:
        given: Any = (names,) if isinstance(names, str) else names
        texts = isinstance(given, tuple | list) and all(isinstance(each, str) for each in given)
        if not (isinstance(by, Mapping) and isinstance(action, str) and texts):
            raise InputError(f"by names parameters of actions, not {by!r}", hint="such as by={'call': ['tool']}")
        found[action] = tuple(given)
    return found
