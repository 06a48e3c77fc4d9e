"""Hierarchical domains and problems as HDDL text."""

from __future__ import annotations

from htn.hddl.renamed import renamed_domain, renamed_problem
from htn.model import HtnDomain, HtnProblem, Method, Network, Task
from planner.creation import refuse_creation
from planner.model import TRUE, DomainModel, Metric, Problem
from planner.model.domain import refuse_unfinished
from planner.pddl.expressions import atom, block, conjoined, variables
from planner.pddl.writer import actions, declared, initial, metric, opening, requirements
from planner.records import replace


def write_domain(domain: HtnDomain) -> str:
    """Return `domain` as HDDL: what is declared in other ways becomes plain ADL, names that nobody takes are changed.

    Requirements are the fewest that say what is used. Raises `UnsupportedError` for what cannot be said: objects that
    actions create, costs that Python computes.
    """
    refuse_unfinished(domain.classical, "in HDDL")
    written = renamed_domain(_plain_domain(domain))
    classical, methods = written.classical, written.methods.values()
    costs = _has_costs(classical)
    conditions = [part for method in methods for part in (method.precondition, method.network.constraints)]
    required = [":hierarchy", *requirements(classical, conditions, costs=costs)]
    if any(method.precondition != TRUE for method in methods):
        required.append(":method-preconditions")
    return "\n".join(
        [
            f"(define (domain {classical.name})",
            f"  (:requirements {' '.join(required)})",
            *declared(classical, costs=costs),
            *map(_task, written.tasks.values()),
            *map(_method, methods),
            *actions(classical, costs=costs),
            ")\n",
        ]
    )


def write_problem(problem: HtnProblem) -> str:
    """Return `problem` as HDDL that goes with what `write_domain` gives for its domain.

    Raises `UnsupportedError` for soft goals and facts declared unknown.
    """
    from planner.pddl.outcomes import to_plain_outcomes  # noqa: PLC0415 - only writing needs it

    plain = to_plain_outcomes(problem.classical)
    domain = replace(problem.domain, classical=plain.domain)
    written = renamed_problem(replace(problem, domain=domain, classical=plain))
    classical = written.classical
    costs = classical.metric is Metric.COST or bool(classical.values)
    parameters = [f"    :parameters {variables(written.parameters)}"]
    goal = [] if classical.goal.hard == TRUE else [f"  (:goal {block(classical.goal.hard, '    ')})"]
    return "\n".join(
        [
            *opening(classical),
            "  (:htn",
            *parameters,
            *_network(written.network),
            "  )",
            *initial(classical, costs=costs),
            *goal,
            *metric(classical, costs=costs),
            ")\n",
        ]
    )


def _plain_domain(domain: HtnDomain) -> HtnDomain:
    """Return `domain` with plain ADL actions."""
    from planner.pddl.outcomes import to_plain_outcomes  # noqa: PLC0415 - only writing needs it

    refuse_creation(domain.classical, "in HDDL")
    return replace(domain, classical=to_plain_outcomes(Problem(domain.name, domain.classical)).domain)


def _has_costs(domain: DomainModel) -> bool:
    return bool(domain.functions) or any(action.cost for action in domain.actions.values())


def _task(task: Task) -> str:
    return f"  (:task {task.name}\n    :parameters {variables(task.parameters)}\n  )"


def _method(method: Method) -> str:
    lines = [
        f"  (:method {method.name}",
        f"    :parameters {variables(method.parameters)}",
        f"    :task {atom(method.task)}",
    ]
    if method.precondition != TRUE:
        lines.append(f"    :precondition {block(method.precondition, '    ')}")
    return "\n".join([*lines, *_network(method.network), "  )"])


def _network(network: Network) -> list[str]:
    """Return the lines for `network`: a sequence where its ordering is just that."""
    size, ordering = len(network.subtasks), network.ordering
    chain = ordering == tuple([(place - 1, place) for place in range(1, size)])
    labels = [subtask.label for subtask in network.subtasks]
    if not chain and ordering and not any(labels):
        labels = [f"t{place}" for place in range(1, size + 1)]
    tasks = [atom(subtask.task) for subtask in network.subtasks]
    listed = [f"({label} {task})" if label else task for label, task in zip(labels, tasks, strict=True)]
    key = ":ordered-subtasks" if chain and size else ":subtasks"
    lines = [f"    {key} {conjoined(listed, '    ') if size else '()'}"]
    if ordering and not chain:
        pairs = [f"(< {labels[first]} {labels[second]})" for first, second in ordering]
        lines.append(f"    :ordering {conjoined(pairs, '    ')}")
    if network.constraints != TRUE:
        lines.append(f"    :constraints {block(network.constraints, '    ')}")
    return lines
