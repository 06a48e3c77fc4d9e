"""Reads tasks and methods from YAML and JSON documents, and writes them."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

from htn.compilations.methods_from_actions import add_derived_methods
from htn.language.declare.for_each import add_action, declare_for_each
from htn.language.declare.hierarchy import FIELDS, Hierarchy, read_network
from htn.language.declare.network_reader import PARTS, check_planning
from htn.model import HtnDomain, HtnProblem, Method, Network, Task, seal_problem
from htn.problem_kind import resolve
from planner.errors import UnsupportedError
from planner.language.declare.action_parameters import read_parameters
from planner.language.declare.declared_names import Scope, Types
from planner.language.declare.fields import Place
from planner.language.documents import document_writer as writer
from planner.language.documents.document_conditions import Notation
from planner.language.documents.document_reader import problem_of as classical_problem
from planner.model import DomainModel, Problem, Variable
from planner.problem_kinds import AnyDomain, Named

if TYPE_CHECKING:
    from planner.language.documents.schema import DomainDocument, NetworkDocument, ProblemDocument


def domain_of(document: DomainDocument, classical: DomainModel, place: Place) -> HtnDomain:
    """Read the domain over its classical part, which is built already. Raises `DocumentError` at the first mistake."""
    found = Hierarchy()
    found.know(classical, place)
    for name, task in document.tasks.items():
        here = place.within("tasks", name)
        found.task(name, _read_parameters(task.parameters, f"task {name!r}", found.types, here), here, task.description)
    for head, each in document.for_each.items():
        here = place.within("for_each", head)
        parameters = _read_parameters(each.parameters, f"task {head!r}", found.types, here)
        stated: dict[str, Any] = {"task": head, **dict(each)}
        del stated["parameters"]
        classical = add_action(classical, declare_for_each(found, classical, parameters, stated, here))
    for name, method in document.methods.items():
        here = place.within("methods", name)
        fields: dict[str, Any] = {each: getattr(method, each) for each in FIELDS if each in method.model_fields_set}
        parameters = _read_parameters(method.parameters, f"method {name!r}", found.types, here)
        found.method(name, parameters, fields, classical, here)
    if not document.derived_methods:
        return found.model(classical)
    return add_derived_methods(found.model(classical, add_derived_methods(HtnDomain(classical)).tasks))


def problem_of(document: ProblemDocument, domain: AnyDomain, place: Place) -> HtnProblem:
    """Read the problem. Raises `DocumentError` at the first mistake."""
    domain = domain if isinstance(domain, HtnDomain) else HtnDomain(_check_classical(domain))
    classical = classical_problem(document, domain.classical, place)
    if document.tasks is None:
        hint = (
            "write 'tasks: [name(arg, …)]', or 'tasks: []' where only the goal is to be checked; for a goal alone, let "
            "the domain say 'derived_methods: true', and write 'tasks: [achieve-NAME(arg, …)]'"
        )
        raise place.error(
            f"problem {document.problem!r} has no tasks, but its domain {domain.name!r} has methods", hint
        )
    return with_tasks(classical, document.tasks, domain, place.within("tasks"))


def with_tasks(
    classical: Problem, tasks: list[str] | NetworkDocument, domain: HtnDomain, place: Place, owner: str = "the problem"
) -> HtnProblem:
    """Add `tasks`, from `place` in a document, to `classical`. Raises an error at the first mistake."""
    types = Types.of(domain.classical.types)
    parameters: tuple[Variable, ...] = ()
    written: dict[str, Any] = {"subtasks": tasks}
    places = dict.fromkeys(PARTS, place)
    if not isinstance(tasks, list):
        parameters = _read_parameters(tasks.parameters, owner, types, place)
        written = {each: getattr(tasks, each) for each in PARTS}
        places = {each: place.within(each) for each in PARTS}
    objects = {each.name: each for each in classical.all_objects}
    scope = Scope(owner, {each.name: each.types for each in parameters}, objects)
    return seal_problem(HtnProblem(domain, classical, read_network(domain, types, scope, written, places), parameters))


def _check_classical(domain: AnyDomain) -> DomainModel:
    if isinstance(domain, DomainModel):
        return domain
    raise UnsupportedError(f"tasks of the domain '{domain.name}'", "tasks are those of hierarchical domains")


def _read_parameters(written: dict[str, list[str]], owner: str, types: Types, place: Place) -> tuple[Variable, ...]:
    here = place.within("parameters")
    named = {name: each if len(each) > 1 else each[0] if each else "" for name, each in written.items()}
    return check_planning(read_parameters(named, types, here), owner, here)


def documents_of(item: Named, *, domain: bool) -> list[dict[str, Any]]:
    """Return a domain, or a problem with or without its domain, as plain data.

    Raises `UnsupportedError`, and `InputError` for undeclared names in a problem.
    """
    if isinstance(item, HtnDomain):
        return [_write_domain(item)]
    if not isinstance(item, HtnProblem):
        raise UnsupportedError(f"'{item.name}' in a document", "hierarchical and classical problems are written")
    item = resolve(item)
    written = {**writer.write_problem_document(item.classical), "tasks": tasks_document(item)}
    return [*([_write_domain(item.domain)] if domain else []), written]


def tasks_document(problem: HtnProblem) -> Any:
    """Return the initial tasks of a problem as plain data: a list for a sequence, else a network."""
    write = Notation([each.name for each in problem.parameters], ())
    network = _write_network(problem.network, write)
    network |= writer.without_defaults({"parameters": writer.write_variables_document(problem.parameters)})
    return network["subtasks"] if network.keys() == {"subtasks"} else network


def _write_domain(domain: HtnDomain) -> dict[str, Any]:
    constants = frozenset(each.name for each in domain.classical.constants)
    writer.refuse_words((*domain.tasks, *domain.methods))
    return writer.write_domain_document(domain.classical) | writer.without_defaults(
        {
            "tasks": {name: _write_task(task) for name, task in domain.tasks.items()},
            "methods": {name: _write_method(method, constants) for name, method in domain.methods.items()},
        },
        keep=("tasks",),
    )


def _write_task(task: Task) -> dict[str, Any]:
    return writer.without_defaults(
        {"description": task.description, "parameters": writer.write_variables_document(task.parameters)}
    )


def _write_method(method: Method, constants: frozenset[str]) -> dict[str, Any]:
    write = Notation([each.name for each in method.parameters], constants)
    return writer.without_defaults(
        {
            "description": method.description,
            "parameters": writer.write_variables_document(method.parameters),
            "task": write.single(method.task),
            "requires": write.formula(method.precondition),
            **_write_network(method.network, write),
        },
        keep=("ordered",),
    )


def _write_network(network: Network, write: Notation) -> dict[str, Any]:
    """Return a network as plain data; subtasks have labels if they had any, or if the ordering needs them."""
    size, ordering = len(network.subtasks), network.ordering
    labels = [each.label for each in network.subtasks]
    found: dict[str, Any] = {}
    if not ordering and size > 1:
        found["ordered"] = False
    elif ordering != tuple(pairwise(range(size))):
        labels = _complete_labels(labels)
        found["ordering"] = [[labels[one], labels[other]] for one, other in ordering]
    texts = [write.single(each.task) for each in network.subtasks]
    subtasks = [f"{label}: {each}" if label else each for label, each in zip(labels, texts, strict=True)]
    constraints = write.formula(network.constraints)
    return {"subtasks": subtasks, **found, **writer.without_defaults({"constraints": constraints})}


def _complete_labels(labels: list[str]) -> list[str]:
    """Add new labels for missing ones to `labels`."""
    taken, found = set(labels), []
    for place, label in enumerate(labels):
        new = f"t{place + 1}"
        while not label and new in taken:
            new += "-"
        taken.add(new)
        found.append(label or new)
    return found
