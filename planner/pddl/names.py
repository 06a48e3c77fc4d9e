"""Names that every PDDL reader takes, for names that people chose.

PDDL knows no upper and lower case, and a name is a letter with letters, digits, `-` and `_` after it. Some readers
also want types, predicates, actions and objects to have different names, and none of them a keyword's.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence

from planner.annotations import Final
from planner.model import ROOT_TYPE, DomainModel, Exists, Forall, Formula, Problem, Variable
from planner.model.formulas import walk
from planner.pddl.effects import TOTAL_COST
from planner.pddl.parts import free_name
from planner.records import dataclass

_LEGAL: Final = re.compile(r"[a-z][a-z0-9_-]*")
_ILLEGAL: Final = re.compile(r"[^a-z0-9_-]+")
_LOGIC: Final = frozenset({"and", "or", "not", "imply", "forall", "exists", "when", "either", "preference"})
_NUMERIC: Final = frozenset({"increase", "decrease", "assign", "scale-up", "scale-down", TOTAL_COST, "total-time"})
_OTHER: Final = frozenset({"define", "domain", "problem", ROOT_TYPE, "number", "always", "sometime", "within"})
RESERVED: Final = _LOGIC | _NUMERIC | _OTHER


@dataclass(frozen=True, slots=True)
class Names:
    """For each kind of name in a problem: what it is called in the file."""

    types: Mapping[str, str]
    predicates: Mapping[str, str]
    functions: Mapping[str, str]
    actions: Mapping[str, str]
    objects: Mapping[str, str]
    variables: Mapping[str, str]

    @classmethod
    def of(cls, problem: Problem) -> Names:
        """Return the names for `problem`: legal ones stay, others are changed, and all are different."""
        domain = problem.domain
        objects = [*(item.name for item in problem.all_objects), *domain.unfinished.undeclared]
        kinds: list[Iterable[str]] = [domain.types, domain.predicates, domain.functions, domain.actions, objects]
        types, predicates, functions, actions, named_objects = distinct(kinds, set(RESERVED))
        bound = dict.fromkeys(variable.name[1:] for variable in variables_of(domain, [problem.goal.hard]))
        (variables,) = distinct([bound], set())
        named = {f"?{name}": f"?{word}" for name, word in variables.items()}
        return cls(types, predicates, functions, actions, named_objects, named)


def distinct(kinds: Sequence[Iterable[str]], taken: set[str]) -> list[dict[str, str]]:
    """Return what the names of each kind become: those that can stay first, and none in `taken`."""
    tables: list[dict[str, str]] = [{} for _ in kinds]
    for names, table in zip(kinds, tables, strict=True):
        for name in names:
            if name not in table and name not in taken and _LEGAL.fullmatch(name):
                table[name] = name
                taken.add(name)
    for names, table in zip(kinds, tables, strict=True):
        for name in names:
            if name not in table:
                table[name] = free_name(legal(name), taken)
    return tables


def legal(name: str) -> str:
    """Return the legal name nearest to `name`: lower-case, without accents, `-` for what is not allowed."""
    if _LEGAL.fullmatch(name):
        return name
    letters = unicodedata.normalize("NFKD", name.casefold())
    word = _ILLEGAL.sub("-", "".join(letter for letter in letters if not unicodedata.combining(letter))).strip("-")
    return word if _LEGAL.fullmatch(word) else f"x{word}"


def variables_of(domain: DomainModel, others: Iterable[Formula]) -> Iterator[Variable]:
    """Yield the variables that are declared anywhere in `domain` and in `others`, with repetitions."""
    formulas = list(others)
    for predicate in domain.predicates.values():
        yield from predicate.parameters
    for function in domain.functions.values():
        yield from function.parameters
    for action in domain.actions.values():
        yield from action.parameters
        formulas.append(action.requires)
        for effect in action.when:
            yield from effect.variables
            formulas.append(effect.requires)
    for axiom in domain.axioms:
        yield from axiom.parameters
        formulas.append(axiom.condition)
    for formula in formulas:
        for part in walk(formula):
            if isinstance(part, Forall | Exists):
                yield from part.variables
