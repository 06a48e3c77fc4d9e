"""Hierarchical domains and problems under the names that files give them."""

from __future__ import annotations

from htn.hddl.names import HtnNames
from htn.model import HtnDomain, HtnProblem, Method, Network, Subtask, Task
from planner.model import Atom
from planner.pddl.names import legal
from planner.pddl.parts import free_name
from planner.pddl.renamed import Renaming
from planner.records import dataclass, field, replace


def renamed_domain(domain: HtnDomain) -> HtnDomain:
    """Return `domain`, whose classical part is plain ADL, with legal names."""
    return _Renaming(HtnNames.of(domain)).domain(domain)


def renamed_problem(problem: HtnProblem) -> HtnProblem:
    """Return `problem`, whose classical part is plain ADL, with legal names, those of its domain included."""
    names = HtnNames.of(problem.domain, problem)
    rename = _Renaming(names)
    classical = problem.classical if names.changes_nothing else rename.classical.problem(problem.classical)
    domain, network = rename.domain(problem.domain), rename.network(problem.network)
    classical = replace(classical, name=legal(problem.name), domain=domain.classical)
    return HtnProblem(domain, classical, network, rename.classical.variables(problem.parameters))


@dataclass(slots=True)
class _Renaming:
    names: HtnNames
    classical: Renaming = field(init=False)

    def __post_init__(self) -> None:
        self.classical = Renaming(self.names.classical)

    def domain(self, domain: HtnDomain) -> HtnDomain:
        tasks = [
            Task(self.names.heads[each.name], self.classical.variables(each.parameters))
            for each in domain.tasks.values()
        ]
        methods = [self.method(method) for method in domain.methods.values()]
        return HtnDomain(
            self.classical.domain(domain.classical),
            {each.name: each for each in tasks},
            {each.name: each for each in methods},
        )

    def method(self, method: Method) -> Method:
        return Method(
            self.names.methods[method.name],
            self.task(method.task),
            self.classical.variables(method.parameters),
            self.classical.formula(method.precondition),
            self.network(method.network),
        )

    def network(self, network: Network) -> Network:
        labels = _labels(network)
        subtasks = [Subtask(self.task(each.task), label) for each, label in zip(network.subtasks, labels, strict=True)]
        return Network(tuple(subtasks), network.ordering, self.classical.formula(network.constraints))

    def task(self, task: Atom) -> Atom:
        return Atom(self.names.heads[task.predicate], tuple(map(self.classical.term, task.args)))


def _labels(network: Network) -> list[str]:
    """Return legal labels for the subtasks, all different; none where none has one."""
    given = [subtask.label for subtask in network.subtasks]
    if not any(given):
        return given
    taken = {label for label in given if label and legal(label) == label}
    free, found = set(taken), []
    for place, label in enumerate(given, start=1):
        found.append(label if label in free else free_name(legal(label) if label else f"t{place}", taken))
        free.discard(label)
    return found
