"""All services: a new one is one entry, a function with `@service` in one of these modules."""

from __future__ import annotations

from pairs import answering_services, carrying_services, planning_services
from pairs.judging import SERVICES, Case, Kind, Verdict, judge

MODULES = (planning_services, answering_services, carrying_services)
__all__ = ["MODULES", "SERVICES", "Case", "Kind", "Verdict", "judge"]
