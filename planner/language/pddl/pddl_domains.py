"""Read domain files."""

from __future__ import annotations

import os
from collections.abc import Iterator

from planner.garbage_collection import pause_collector
from planner.language.pddl import syntax
from planner.language.pddl.pddl_actions import (
    derived_name,
    read_action,
    read_axiom,
    read_functions,
    read_objects,
    read_predicates,
)
from planner.language.pddl.pddl_conditions import read_constraints
from planner.language.pddl.pddl_costs import TOTAL_AS_FUNCTION, settle_total_cost
from planner.language.pddl.pddl_vocabulary import NumberUses, Types, Vocabulary, read_types
from planner.language.pddl.sections import Definition, choose_free_name, read_definition
from planner.language.pddl.syntax import Source, quote, read_text, refuse_construct, warn
from planner.lightweight import Final, replace
from planner.model import Action, DomainModel, Object
from planner.model.actions import Stated
from planner.model.domain import Unfinished
from planner.model.spelling import Spelling

_DECLARED: Final = (":requirements", ":types", ":constants", ":predicates", ":functions")
SECTIONS: Final = (*_DECLARED, ":action", ":durative-action", ":derived", ":constraints")
WITHOUT_MEANING: Final = frozenset({":invariant", ":irrelevant", ":replaceable", ":extends", ":domain-variables"})
"""Sections without influence on plans: they restate consequences of the actions (DKEL), or belong to languages before
PDDL 2.1."""


def read_domain(path: str | os.PathLike[str]) -> DomainModel:
    """Return the domain in the file at `path`; raises what `parse_domain` raises."""
    return parse_domain(read_text(path), os.fspath(path))


@pause_collector()
def parse_domain(text: str, source: str = "<string>") -> DomainModel:
    """Parse the domain in `text`; `source` names it in messages. All names become lower-case.

    An action costs the sum of its increases of `(total-cost)`; the problem's metric says whether costs count. Where
    conditions or effects read the total cost, it is also a function, with the name `total_cost`. `:requirements` has no
    influence. Where the section of predicates or functions is missing, first uses declare them.

    Raises `PddlError` for mistakes, `UnsupportedError` for what is beyond PDDL 2.1, level 3.
    """
    definition = read_definition(Source(text, source), "domain", SECTIONS, WITHOUT_MEANING)
    return build_domain(definition)[0]


def build_domain(definition: Definition, *, last_counts: bool = False) -> tuple[DomainModel, Vocabulary]:
    """Build the domain from the sections of `definition`; return it and the vocabulary of its conditions.

    Sections of other kinds are ignored. Of several actions of one name all are kept, or only the last where
    `last_counts`.
    """
    types = Types(definition.source, read_types(definition.source, definition.all(":types")))
    constants: dict[str, Object] = {}
    for section in definition.all(":constants"):
        constants |= read_objects(section, types, constants)
    words = _make_vocabulary(definition, types, constants)
    actions, preferences, versions = _read_actions(definition, words, last_counts=last_counts)
    axioms = tuple([read_axiom(tree, words) for tree in definition.all(":derived")])
    objects = tuple(constants.values())
    predicates, functions = words.predicates, words.functions
    stated = tuple(_read_constraints(definition, words))
    unfinished = Unfinished(constraints=stated, preferences=preferences, costs_at_start=words.numbers.costs_at_start)
    model = DomainModel(definition.name, types.declared, objects, predicates, functions, actions, axioms)
    spelling = Spelling((definition.source.text,))
    model = replace(model, unfinished=unfinished, versions=versions, misplaced=words.misplaced, spelling=spelling)
    return with_undeclared(settle_total_cost(model, words), words), words


def with_undeclared(domain: DomainModel, words: Vocabulary) -> DomainModel:
    """Add the objects to `domain` that `words` has seen and that are not declared."""
    if not words.undeclared:
        return domain
    undeclared = {name: tuple(found) for name, found in words.undeclared.items()}
    return replace(domain, unfinished=replace(domain.unfinished, undeclared=undeclared))


def _read_constraints(definition: Definition, words: Vocabulary) -> Iterator[Stated]:
    for section in definition.all(":constraints"):
        warn(words.source, section, None, "the domain's constraints are taken as constraints of each of its problems")
        yield from read_constraints(section, words)


def _make_vocabulary(definition: Definition, types: Types, constants: dict[str, Object]) -> Vocabulary:
    predicates, functions = definition.all(":predicates"), definition.all(":functions")
    return Vocabulary(
        definition.source,
        types,
        read_predicates(predicates, types),
        constants,
        read_functions(functions, types),
        inferred=not predicates,
        functions_inferred=not functions,
        undeclared={},
        numbers=NumberUses(TOTAL_AS_FUNCTION),
    )


def _read_actions(
    definition: Definition, words: Vocabulary, *, last_counts: bool
) -> tuple[dict[str, Action], dict[str, tuple[Stated, ...]], dict[str, str]]:
    """Read the actions by name, the preferences of their preconditions, and which actions are versions of which."""
    derived = frozenset(map(derived_name, definition.all(":derived")))
    found: dict[str, Action] = {}
    preferences: dict[str, tuple[Stated, ...]] = {}
    versions: dict[str, str] = {}
    trees = definition.all(":action")
    read = [read_action(tree, words, derived) for tree in trees]
    if lasting := definition.all(":durative-action"):
        from planner.language.pddl.pddl_durations import read_durative_action

        trees = [*trees, *lasting]
        read += [([read_durative_action(tree, words, derived)], ()) for tree in lasting]
    taken = {action.name for (action, *_), _ in read}
    for tree, ((first, *others), preferred) in zip(trees, read, strict=True):
        if others and last_counts:
            raise refuse_construct(words.source, syntax.OUTCOMES_OF_TASKS, tree)
        name = first.name if last_counts or first.name not in found else choose_free_name(first.name, taken)
        if first.name in found:
            which = "only this one counts" if last_counts else f"this one is read as {quote(name)}"
            warn(words.source, tree, 1, f"the action {quote(tree[1])} is declared twice; {which}")
        names = [name, *(choose_free_name(f"{name}-otherwise", taken) for _ in others)]
        found |= {own: replace(each, name=own) for own, each in zip(names, (first, *others), strict=True)}
        preferences |= dict.fromkeys(names, preferred)
        versions |= dict.fromkeys(names[1:], name)
    return found, {name: preferred for name, preferred in preferences.items() if preferred}, versions
