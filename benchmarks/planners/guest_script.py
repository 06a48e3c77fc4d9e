"""Solve a task with the peer that is installed here, and print the answer as one line of JSON.

A script of its own for an interpreter that has the peer and nothing of ours: `python -I guest_script.py PEER OPTIONS
DOMAIN PROBLEM SECONDS`. PEER is kairos, jupyddl, aries or nextflap. OPTIONS is JSON; with `warm` a tiny task is solved
first, so that the times are those of a process in use. The answer has `status` ("optimal", "solved", "unsolvable", or
what stopped the search), `cost`, `plan`, `read_seconds` (files to ground task) and `search_seconds`, and what the
search took: `evaluations`, `expansions`, `stored_states` where the peer counts them, `search_bytes`, by which the
process has grown at its highest, and `effort_seconds` of CPU time.
"""

from __future__ import annotations

import gc
import json
import os
import resource
import sys
import tempfile
import time
from itertools import chain
from pathlib import Path
from typing import Any

POLL_SECONDS = 0.005
"""How often the CPU time of a search in native code is looked at."""
STATUSES = {
    "SOLVED_OPTIMALLY": "solved",
    "SOLVED_SATISFICING": "solved",
    "UNSOLVABLE_PROVEN": "unsolvable",
    "UNSOLVABLE_INCOMPLETELY": "unknown",
    "TIMEOUT": "time",
    "MEMOUT": "out_of_memory",
    "UNSUPPORTED_PROBLEM": "unsupported",
}
TINY_DOMAIN = """(define (domain tiny) (:requirements :strips) (:predicates (a) (b))
(:action go :parameters () :precondition (a) :effect (and (b) (not (a)))))"""
TINY_PROBLEM = "(define (problem tiny) (:domain tiny) (:init (a)) (:goal (b)))"


def kairos(domain_path: str, problem_path: str, seconds: float, options: dict[str, str]) -> dict[str, Any]:
    """Solve with kairos-planner on one thread, for `seconds` of CPU time; `first` stops at the first plan.

    Its own limit counts the clock, which is no measure where others use the processor too.
    """
    import kairos as peer

    began = time.perf_counter()
    try:
        problem = peer.load_problem(problem_path, peer.load_domain(domain_path))
    except peer.PddlError as error:
        return {"status": "unsupported", "detail": str(error)[:300]}
    loaded, spent, resident = time.perf_counter(), time.process_time(), resident_bytes()
    anytime = "first" not in options
    search = peer.Planner().start(problem, timeout=100 * seconds, anytime=anytime, threads=1)
    while search.running():
        if time.process_time() > seconds:
            search.stop()
        time.sleep(POLL_SECONDS)
    result = search.wait()
    proofs = (peer.StopReason.PROVEN_OPTIMAL, peer.StopReason.EXHAUSTED)
    proved = anytime and result.status is peer.Status.SOLVED and result.stop_reason in proofs
    stats = result.stats
    return {
        "status": "optimal" if proved else result.status.name.lower(),
        "cost": None if result.plan is None else result.plan.cost,
        "plan": None if result.plan is None else result.plan.to_string(),
        "read_seconds": loaded - began + (stats.total_ms - stats.parse_ms - stats.search_ms) / 1000,
        "search_seconds": stats.search_ms / 1000,
        "evaluations": stats.evaluated,
        "expansions": stats.expanded,
        "stored_states": stats.states,
        "effort_seconds": time.process_time() - spent,
        "search_bytes": grown_bytes(resident),
        "detail": "; ".join(str(one) for one in result.diagnostics)[:300],
    }


def jupyddl(domain_path: str, problem_path: str, seconds: float, options: dict[str, str]) -> dict[str, Any]:
    """Solve with jupyddl; `search` and `heuristic` are its names for them."""
    from jupyddl import UnsupportedFeatureError, build_task, solve_task

    began = time.perf_counter()
    try:
        task = build_task(domain_path, problem_path)
    except UnsupportedFeatureError as error:
        return {"status": "unsupported", "detail": str(error)}
    read, spent, resident = time.perf_counter(), time.process_time(), resident_bytes()
    search, heuristic = options.get("search", "astar"), options.get("heuristic", "lmcut")
    result = solve_task(task, search=search, heuristic=heuristic, time_limit=max(0.1, seconds - (read - began)))
    complete = search == "dijkstra" or (search == "astar" and heuristic in ("blind", "hmax", "lmcut"))
    exact = costs_are_exact(task)
    if result.solved:
        status = "optimal" if complete and exact else "solved"
    else:
        status = "time" if result.truncated else "unsolvable" if complete else "unknown"
    names = result.plan_names(canonical=True)
    return {
        "status": status,
        "cost": result.cost if exact else None,
        "plan": None if names is None else "".join(map(plan_line, names)),
        "read_seconds": read - began,
        "search_seconds": time.perf_counter() - read,
        "evaluations": result.stats.evaluated,
        "expansions": result.stats.expanded,
        "effort_seconds": time.process_time() - spent,
        "search_bytes": grown_bytes(resident),
    }


def plan_line(name: str) -> str:
    """Return jupyddl's `pick(ball,room)` as a line of a plan."""
    return "(" + " ".join(name.strip("()").replace("(", ",").split(",")) + ")\n"


def costs_are_exact(task: Any) -> bool:
    """Return whether jupyddl counts the task's costs: under a metric, actions that say none cost nothing.

    It takes 1 for these, as an int; the costs that it has read are floats.
    """
    return not task.metric_cost or all(isinstance(operator.cost, float) for operator in task.operators)


def resident_bytes() -> int:
    """Return the resident memory of this process now; 0 without /proc."""
    statm = Path("/proc/self/statm")
    return int(statm.read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE") if statm.exists() else 0


def grown_bytes(before: int) -> int | None:
    """Return by how much the peak of the resident memory exceeds `before`; None where that is not known."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return max(0, peak - before) if before else None


def aries(domain_path: str, problem_path: str, seconds: float, options: dict[str, str]) -> dict[str, Any]:
    """Solve a task with Aries until its first plan, or with `anytime` until the best one, for `seconds` by the clock.

    See Bit-Monnot 2023, "Experimenting with Lifted Plan-Space Planning as Scheduling: Aries in the 2023 IPC".
    """
    from up_aries import Aries

    return solve_unified(Aries, domain_path, problem_path, seconds, anytime="anytime" in options)


def nextflap(domain_path: str, problem_path: str, seconds: float, _: dict[str, str]) -> dict[str, Any]:
    """Solve a task with numbers with NextFLAP (Sapena, Onaindia, Marzal 2024), at most for `seconds` by the clock."""
    from up_nextflap import NextFLAPImpl

    return solve_unified(NextFLAPImpl, domain_path, problem_path, seconds)


def solve_unified(
    engine: Any, domain_path: str, problem_path: str, seconds: float, *, anytime: bool = False
) -> dict[str, Any]:
    """Solve a task that unified-planning reads with one of its engines, until the first plan or the best one.

    The best plan of a task in time without a metric is the one that ends first.
    """
    import unified_planning.model.metrics
    from pyparsing import ParseBaseException
    from unified_planning.environment import get_environment
    from unified_planning.exceptions import UPException
    from unified_planning.io import PDDLReader

    began = time.perf_counter()
    get_environment().error_used_name = False
    try:
        problem = PDDLReader().parse_problem(domain_path, problem_path)
    except (UPException, NotImplementedError, SyntaxError, AssertionError, ParseBaseException) as error:
        return {"status": "unsupported", "detail": str(error)[:300]}
    lacking = find_lacking(engine, problem)
    if lacking:
        return {"status": "unsupported", "detail": ", ".join(sorted(lacking))}
    read = time.perf_counter()
    solver = engine()
    solver.skip_checks = True
    result: Any = None
    plan = first = None
    with tempfile.TemporaryFile("w") as output:
        if anytime:
            if problem.kind.has_continuous_time() and not problem.quality_metrics:
                problem.add_quality_metric(unified_planning.model.metrics.MinimizeMakespan())
            for result in solver.get_solutions(problem, timeout=seconds, output_stream=output):
                plan = result.plan or plan
                first = first or (plan and time.perf_counter() - began)
        else:
            result = solver.solve(problem, timeout=seconds, output_stream=output)
            plan = result.plan
    if result is None:
        return {"status": "time"}
    status = STATUSES.get(result.status.name, "error")
    if plan is not None:
        status = "optimal" if anytime and result.status.name == "SOLVED_OPTIMALLY" else "solved"
    return {
        "status": status,
        "plan": None if plan is None else plan_text(plan, problem),
        "read_seconds": read - began,
        "search_seconds": time.perf_counter() - read,
        "first_plan_seconds": first,
        "detail": "" if result.status.name in STATUSES else f"{result.status.name} {result.log_messages}"[:300],
    }


def find_lacking(engine: Any, problem: Any) -> set[str]:
    """Return the features of `problem` that `engine` lacks, after making real fluents integer ones where that helps.

    Increases by functions that never change count as general numeric planning in unified-planning; engines take them.
    Aries says that it lacks real durations, but takes those that are whole.
    """
    supported = engine.supported_kind().features | {"GENERAL_NUMERIC_PLANNING", "REAL_TYPE_DURATIONS"}
    if "REAL_FLUENTS" in problem.kind.features - supported and has_integers_only(problem):
        declare_integers(problem)
    return set(problem.kind.features - supported)


def has_integers_only(problem: Any) -> bool:
    """Return whether every number in `problem` is an integer, and nothing is divided: the reader takes all for real."""
    effects = [*chain.from_iterable(problem.timed_effects.values())]
    conditions = [*problem.goals, *chain.from_iterable(problem.timed_goals.values())]
    for action in problem.actions:
        if hasattr(action, "preconditions"):
            conditions.extend(action.preconditions)
            effects.extend(action.effects)
        else:
            conditions.extend([action.duration.lower, action.duration.upper])
            conditions.extend(chain.from_iterable(action.conditions.values()))
            effects.extend(chain.from_iterable(action.effects.values()))
    waiting = [
        *problem.explicit_initial_values.values(),
        *conditions,
        *(part for effect in effects for part in (effect.value, effect.condition)),
    ]
    while waiting:
        expression = waiting.pop()
        if expression.is_real_constant() or expression.is_div():
            return False
        waiting.extend(expression.args)
    return True


def declare_integers(problem: Any) -> None:
    """Declare the fluents with numbers as integers."""
    from unified_planning.shortcuts import IntType

    for fluent in problem.fluents:
        if fluent.type.is_real_type():
            fluent._typename = IntType()  # noqa: SLF001 - a new problem would need every expression made anew


def plan_text(plan: Any, problem: Any) -> str:
    """Return a plan as the competition writes it: of a hierarchical one also each task with its method and subtasks."""
    if hasattr(plan, "timed_actions"):
        return "".join(timed_line(*each) for each in plan.timed_actions)
    if not hasattr(plan, "decomposition"):
        ordered = plan if hasattr(plan, "actions") else next(plan.all_sequential_plans())
        return "".join(f"({action_text(step.action.name, step)})\n" for step in ordered.actions)
    steps = plan.action_plan.actions
    numbers = {id(step): number for number, step in enumerate(steps)}
    lines = ["==>", *(f"{number} {action_text(step.action.name, step)}" for number, step in enumerate(steps))]
    count = len(steps)
    waiting = [("root", problem.task_network, plan.decomposition)]
    while waiting:
        start, network, decomposition = waiting.pop()
        children = []
        for subtask in network.subtasks:
            done = decomposition.subtasks[subtask.identifier]
            number = numbers.get(id(done))
            if number is None:
                number, count = count, count + 1
                head = f"{number} {task_text(done)} -> {done.method.name}"
                waiting.append((head, done.method, done.decomposition))
            children.append(str(number))
        lines.append(" ".join([start, *children]))
    return "\n".join([*lines, "<=="]) + "\n"


def timed_line(start: Any, step: Any, duration: Any) -> str:
    """Return a step of a plan in time as the competition writes it."""
    lasts = "" if duration is None else f" [{float(duration):.6f}]"
    return f"{float(start):.6f}: ({action_text(step.action.name, step)}){lasts}\n"


def task_text(done: Any) -> str:
    """Return the task that a method was used for."""
    task = done.method.achieved_task
    values = {parameter.name: value for parameter, value in zip(done.method.parameters, done.parameters, strict=True)}
    return " ".join([task.task.name, *(str(values[parameter.name]) for parameter in task.parameters)])


def action_text(name: str, step: Any) -> str:
    """Return an action with its arguments."""
    return " ".join([name, *map(str, step.actual_parameters)])


def collect_server() -> None:
    """Wait for the solver's process, which ends with what owns it, so that its CPU time counts as this one's."""
    gc.collect()
    for _ in range(100):
        try:
            if os.waitpid(-1, os.WNOHANG) != (0, 0):
                return
        except ChildProcessError:
            return
        time.sleep(0.01)


PEERS = {"kairos": kairos, "jupyddl": jupyddl, "aries": aries, "nextflap": nextflap}


def warm_up(peer: str, options: dict[str, str]) -> None:
    """Solve a tiny task."""
    with tempfile.TemporaryDirectory() as folder:
        files = Path(folder, "domain.pddl"), Path(folder, "problem.pddl")
        for path, text in zip(files, (TINY_DOMAIN, TINY_PROBLEM), strict=True):
            path.write_text(text, encoding="utf-8")
        PEERS[peer](str(files[0]), str(files[1]), 5.0, options)


def main() -> None:
    """Solve the task of the command line."""
    peer, options, domain, problem, seconds = sys.argv[1], json.loads(sys.argv[2]), *sys.argv[3:6]
    if options.pop("warm", None):
        warm_up(peer, options)
    answer = PEERS[peer](domain, problem, float(seconds), options)
    if peer == "aries":
        collect_server()
    print(json.dumps(answer))  # noqa: T201 - that is the answer


if __name__ == "__main__":
    main()
