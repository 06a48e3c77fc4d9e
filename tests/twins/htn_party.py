"""A small hierarchical problem in which money and cost are to be weighed."""

from __future__ import annotations

from htn.language.declare import Methods
from planner import Domain


def party(**more):
    """Return a problem with two tasks, each of which is done dearly or for more money."""
    domain = Domain("party", types=["thing"])
    domain.action("order", {"what": "thing"}, provides="have(what)", cost=1, uses={"money": 5})
    domain.action("bake", {"what": "thing"}, provides="have(what)", cost=4, uses={"money": 2})
    how = Methods(domain)
    how.task("get", what="thing")
    how.method("buy", {"what": "thing"}, task="get(what)", subtasks=["order(what)"])
    how.method("make", {"what": "thing"}, task="get(what)", subtasks=["bake(what)"])
    return how.problem(objects={"cake": "thing", "bread": "thing"}, tasks=["get(cake)", "get(bread)"], **more)
