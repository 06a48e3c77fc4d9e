"""What an agent knows from earlier: plans, templates and readings, as objects or by the names of their files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from executor.agent.reading import Readings
from planner.model import DomainModel
from planner.records import dataclass
from planner.reuse import PlanCache, Template, read_templates

File = str | Path


@dataclass(frozen=True, slots=True)
class Kept:
    """The `cache` of plans, the `templates`, and the `readings` that somebody has confirmed."""

    cache: PlanCache | None = None
    templates: Sequence[Template] = ()
    readings: Readings | None = None

    @classmethod
    def of(
        cls,
        cache: PlanCache | File | None,
        templates: Sequence[Template] | File,
        readings: Readings | File | None,
        domain: DomainModel,
    ) -> Kept:
        """Return what these are, or what is in the files that they name; a file of plans has the readings, too.

        Raises `InputError` for files that are something else.
        """
        if readings is None and isinstance(cache, File):
            readings = cache
        return cls(
            PlanCache(cache) if isinstance(cache, File) else cache,
            read_templates(templates, domain) if isinstance(templates, File) else tuple(templates),
            Readings(readings) if isinstance(readings, File) else readings,
        )

    def to_dict(self) -> dict[str, float]:
        """Return how often plans and readings were there already, and what that saved: seconds, calls and tokens."""
        found: dict[str, float] = {}
        if self.cache is not None:
            found |= self.cache.savings.to_dict()
        if self.readings is not None:
            saved = self.readings.saved
            found |= {"read": self.readings.hits, "calls": saved.calls, "tokens": saved.tokens}
        return found
