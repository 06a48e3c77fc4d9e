"""Names that every HDDL reader takes, for names that people chose."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from htn.model import HtnDomain, HtnProblem
from planner.model import Variable
from planner.pddl.names import RESERVED, Names, distinct, variables_of
from planner.records import dataclass


@dataclass(frozen=True, slots=True)
class HtnNames:
    """What is called what in the files: `heads` are actions and tasks, the others are in `classical`."""

    classical: Names
    heads: Mapping[str, str]
    methods: Mapping[str, str]

    @classmethod
    def of(cls, domain: HtnDomain, problem: HtnProblem | None = None) -> HtnNames:
        """Return the names for `domain`, and for the objects and variables of `problem`.

        Legal names stay, others are changed, and those of one kind are different. What a part of the domain is called
        does not depend on the problem.
        """
        source = domain.classical
        constants = _table([*(each.name for each in source.constants), *source.unfinished.undeclared])
        objects = [each.name for each in problem.classical.objects if each.name not in constants] if problem else []
        (others,) = distinct([objects], {*RESERVED, *constants.values()})
        actions, tasks = distinct([source.actions, domain.tasks], set(RESERVED))
        (bound,) = distinct([dict.fromkeys(each.name[1:] for each in _variables(domain, problem))], set())
        variables = {f"?{name}": f"?{word}" for name, word in bound.items()}
        types, predicates, functions = map(_table, (source.types, source.predicates, source.functions))
        classical = Names(types, predicates, functions, actions, constants | others, variables)
        return cls(classical, actions | tasks, _table(domain.methods))

    @property
    def changes_nothing(self) -> bool:
        """Whether all names of the problem and the classical domain stay as they are."""
        names = self.classical
        tables = (names.types, names.predicates, names.functions, names.objects, names.variables, self.heads)
        return all(name == word for table in tables for name, word in table.items())


def _table(names: Collection[str]) -> dict[str, str]:
    return distinct([names], set(RESERVED))[0]


def _variables(domain: HtnDomain, problem: HtnProblem | None) -> Iterator[Variable]:
    """Yield the variables that are declared anywhere, with repetitions."""
    goal = [problem.classical.goal.hard] if problem else []
    yield from variables_of(domain.classical, [*goal, *(each.precondition for each in domain.methods.values())])
    yield from problem.parameters if problem else ()
    for task in domain.tasks.values():
        yield from task.parameters
    for method in domain.methods.values():
        yield from method.parameters
