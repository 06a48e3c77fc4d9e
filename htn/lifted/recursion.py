"""Which tasks may lead to themselves."""

from __future__ import annotations

from htn.model import HtnDomain
from planner.components import components


def recursive(domain: HtnDomain) -> set[str]:
    """Return the tasks of `domain` that some chain of methods leads back to."""
    leads: dict[str, set[str]] = {name: set() for name in domain.tasks}
    for method in domain.methods.values():
        leads[method.task.predicate] |= {each.task.predicate for each in method.network.subtasks} & leads.keys()
    return {name for component in components(leads) for name in component if len(component) > 1 or name in leads[name]}
