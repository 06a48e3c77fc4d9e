"""Incidents for tests of hierarchical repair."""

from __future__ import annotations

from domains.incident import incident


def replicated():
    """Return an incident that a replica can end, or an older version."""
    return incident(
        "replicated",
        needs=[("shop", "store")],
        down=["shop", "store"],
        facts=["changed(store)", "replicated(store)", "on_call(ada)", "on_call(ben)", "on_call(eve)"],
        affected="shop",
        customers=["acme"],
    )
