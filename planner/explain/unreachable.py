"""A goal that nothing reaches, as data: the chain of needs that leads to what nothing can provide."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Any


class Cause(Enum):
    """Why a chain of needs ends."""

    NO_PROVIDER = "it does not hold initially, and no action provides it"
    STATIC = "it does not hold initially, and no action ever changes it"
    LASTING = "it holds initially, and no action ends it"
    NO_OBJECTS = "no objects fit what could provide it"
    CIRCULAR = "it is needed for itself"
    NOT_FOLLOWED = "the chain is longer than this explanation"
    IMPOSSIBLE = "no facts at all would make it true"


@dataclass(frozen=True, slots=True)
class Link:
    """One need: `fact` cannot come about.

    Either `provider`, the instance that comes nearest to providing it, `lacks` conditions; or there is a `cause`, and
    the chain ends. An empty `provider` with `lacks` means that the fact is derived, or a part of the goal that is no
    single fact. `others` are further actions that could provide the fact, if something else than `lacks` held.
    """

    fact: str
    provider: str = ""
    lacks: tuple[str, ...] = ()
    cause: Cause | None = None
    others: tuple[str, ...] = ()

    def __str__(self) -> str:
        if self.cause is not None:
            would = f" ({', '.join(self.others)} could)" if self.others and self.cause is Cause.NO_OBJECTS else ""
            return f"{self.fact}: {self.cause.value}{would}"
        also = f" (as would {', '.join(self.others)})" if self.others else ""
        if not self.provider:
            return f"{self.fact}: needs {' and '.join(self.lacks)}{also}"
        return f"{self.fact}: {self.provider} would provide it{also}, but needs {' and '.join(self.lacks)}"

    def to_dict(self) -> dict[str, Any]:
        """Return the link as JSON-ready data."""
        return {
            "fact": self.fact,
            "provider": self.provider or None,
            "lacks": list(self.lacks),
            "cause": self.cause.name.lower() if self.cause is not None else None,
            "others": list(self.others),
        }


@dataclass(frozen=True, slots=True)
class Missing:
    """A missing capability: a `fact` that nothing can provide, and who needs it: `needed_by`, nearest first.

    Where the cause is `CIRCULAR`, the fact is needed by what it needs itself.
    """

    fact: str
    cause: Cause
    needed_by: tuple[str, ...]

    def __str__(self) -> str:
        path = " ← ".join(self.needed_by)
        if self.cause is Cause.CIRCULAR:
            return f"no beginning: {self.fact} is needed by {path}, which it needs itself"
        return f"missing: {self.fact}" + (f", needed by {path}" if path else "")

    def to_dict(self) -> dict[str, Any]:
        """Return the missing capability as JSON-ready data."""
        return {"fact": self.fact, "cause": self.cause.name.lower(), "needed_by": list(self.needed_by)}


@dataclass(frozen=True, slots=True)
class Unreachable:
    """A part of the goal that no plan reaches, not even when nothing that holds ever ends.

    `links` go from the goal towards what is missing, each fact once; `missing` are the ends that they lead to.
    """

    goal: str
    links: tuple[Link, ...]
    missing: tuple[Missing, ...]

    def lines(self) -> Iterator[str]:
        """Yield the explanation, a line for each link."""
        yield f"{self.goal} cannot be reached:"
        yield from (f"  {link}" for link in self.links)
        yield from (f"  {missing}" for missing in self.missing)

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def to_dict(self) -> dict[str, Any]:
        """Return the explanation as JSON-ready data."""
        return {
            "goal": self.goal,
            "links": [link.to_dict() for link in self.links],
            "missing": [missing.to_dict() for missing in self.missing],
        }
