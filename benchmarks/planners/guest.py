"""Solve a task with the peer that is installed here, and print what came of it as one line of JSON.

A script of its own for an interpreter that has the peer and nothing of ours: `python -I guest.py PEER OPTIONS DOMAIN
PROBLEM SECONDS`. OPTIONS is JSON; with `warm` a tiny task is solved first, so that the times are those of a process
in use. Printed are `status` ("optimal", "solved", "unsolvable", or what stopped it), `cost`, `plan`, `read_seconds`
(files to ground task) and `search_seconds`.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

TINY_DOMAIN = """(define (domain tiny) (:requirements :strips) (:predicates (a) (b))
(:action go :parameters () :precondition (a) :effect (and (b) (not (a)))))"""
TINY_PROBLEM = "(define (problem tiny) (:domain tiny) (:init (a)) (:goal (b)))"


def kairos(domain_path: str, problem_path: str, seconds: float, options: dict[str, str]) -> dict[str, Any]:
    """Solve with kairos-planner on one thread; `first` stops at the first plan."""
    import kairos as peer  # noqa: PLC0415 - only this one is installed here

    began = time.perf_counter()
    problem = peer.load_problem(problem_path, peer.load_domain(domain_path))
    anytime = "first" not in options
    result = peer.Planner().solve(problem, timeout=seconds, anytime=anytime, threads=1)
    total = time.perf_counter() - began
    status = result.status.name.lower()
    if result.status is peer.Status.SOLVED and result.stop_reason in (
        peer.StopReason.PROVEN_OPTIMAL,
        peer.StopReason.EXHAUSTED,
    ):
        status = "optimal" if anytime else "solved"
    search = result.stats.search_ms / 1000
    plan = None if result.plan is None else result.plan.to_string()
    return {
        "status": status,
        "cost": None if result.plan is None else result.plan.cost,
        "plan": plan,
        "read_seconds": total - search,
        "search_seconds": search,
        "detail": "; ".join(str(one) for one in result.diagnostics)[:300],
    }


def jupyddl(domain_path: str, problem_path: str, seconds: float, options: dict[str, str]) -> dict[str, Any]:
    """Solve with jupyddl; `search` and `heuristic` are its names for them."""
    from jupyddl import UnsupportedFeatureError, build_task, solve_task  # noqa: PLC0415 - as above

    began = time.perf_counter()
    try:
        task = build_task(domain_path, problem_path)
    except UnsupportedFeatureError as error:
        return {"status": "unsupported", "detail": str(error)}
    read = time.perf_counter()
    search, heuristic = options.get("search", "astar"), options.get("heuristic", "lmcut")
    result = solve_task(task, search=search, heuristic=heuristic, time_limit=max(0.1, seconds - (read - began)))
    proves = search == "dijkstra" or (search == "astar" and heuristic in ("blind", "hmax", "lmcut"))
    if result.solved:
        status = "optimal" if proves else "solved"
    else:
        status = "time" if result.truncated else "unsolvable" if proves else "unknown"
    names = result.plan_names(canonical=True)
    return {
        "status": status,
        "cost": result.cost,
        "plan": None if names is None else "".join(f"({name.strip('()')})\n" for name in names),
        "read_seconds": read - began,
        "search_seconds": time.perf_counter() - read,
    }


PEERS = {"kairos": kairos, "jupyddl": jupyddl}


def warm_up(peer: str, options: dict[str, str]) -> None:
    """Solve a tiny task."""
    with tempfile.TemporaryDirectory() as folder:
        files = Path(folder, "domain.pddl"), Path(folder, "problem.pddl")
        for path, text in zip(files, (TINY_DOMAIN, TINY_PROBLEM), strict=True):
            path.write_text(text, encoding="utf-8")
        PEERS[peer](str(files[0]), str(files[1]), 5.0, options)


def main() -> None:
    """Do what the command line says."""
    peer, options, domain, problem, seconds = sys.argv[1], json.loads(sys.argv[2]), *sys.argv[3:6]
    if options.pop("warm", None):
        warm_up(peer, options)
    print(json.dumps(PEERS[peer](domain, problem, float(seconds), options)))  # noqa: T201 - that is the answer


if __name__ == "__main__":
    main()
