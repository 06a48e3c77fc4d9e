"""Problem files: sections to the problem of the model."""

from __future__ import annotations

import os

from planner.annotations import Final
from planner.collector import collector_paused
from planner.model import TRUE, DomainModel, Formula, Goal, Metric, Object, Problem
from planner.pddl import refused
from planner.pddl.conditions import check_length, read_condition, subtree
from planner.pddl.declarations import read_objects
from planner.pddl.definitions import Definition, read_definition
from planner.pddl.domains import read_domain
from planner.pddl.effects import TOTAL_COST
from planner.pddl.initial import read_initial
from planner.pddl.refused import unsupported
from planner.pddl.text import read_text
from planner.pddl.trees import Source, nearest, quote
from planner.pddl.typed import Types
from planner.pddl.vocabulary import Vocabulary

SECTIONS: Final = (":domain", ":objects", ":init", ":goal", ":metric")
WITHOUT_MEANING: Final = frozenset({":requirements", ":length", ":situation", ":irrelevant"})
"""Sections that say nothing about which plans there are: hints to some planner, or what the domain says already."""


def read(domain: str | os.PathLike[str], problem: str | os.PathLike[str]) -> Problem:
    """Return the problem in two PDDL files; raises what `parse_domain` and `parse_problem` raise."""
    return read_problem(problem, read_domain(domain))


def read_problem(path: str | os.PathLike[str], domain: DomainModel) -> Problem:
    """Return the problem for `domain` in the file at `path`; raises what `parse_problem` raises."""
    return parse_problem(read_text(path), domain, os.fspath(path))


@collector_paused()
def parse_problem(text: str, domain: DomainModel, source: str = "<string>") -> Problem:
    """Return the problem for `domain` that `text` defines; `source` names it in messages. Names become lower-case.

    With `(:metric minimize (total-cost))` plans cost what their actions do, without a metric their length.

    Raises `PddlError` for mistakes, `UnsupportedError` for what is beyond the ADL level.
    """
    definition = read_definition(Source(text, source), "problem", SECTIONS, WITHOUT_MEANING)
    if not definition.all(":goal"):
        hint = "add '(:goal (and …))'"
        raise definition.source.error("the problem has no goal", definition.tree, len(definition.tree), hint)
    return classical_problem(definition, domain)[0]


def classical_problem(
    definition: Definition, domain: DomainModel, *, same_name: bool = True
) -> tuple[Problem, Vocabulary]:
    """Return the problem that the sections of `definition` state, and what conditions in it may name.

    Sections of other kinds are left alone; without a goal, it is always true. The domain that the problem names has to
    have the name of `domain` where `same_name`.
    """
    _check_domain(definition, domain, same_name=same_name)
    types = Types(definition.source, domain.types)
    constants = {constant.name: constant for constant in domain.constants}
    objects = _objects(definition, types, constants)
    words = Vocabulary(definition.source, types, dict(domain.predicates), constants | objects, dict(domain.functions))
    initial, values = read_initial(definition.all(":init"), words, domain.derived)
    goal = Goal(_goal(definition, words))
    metric = _metric(definition)
    return Problem(definition.name, domain, tuple(objects.values()), initial, goal, values, metric), words


def _check_domain(definition: Definition, domain: DomainModel, *, same_name: bool) -> None:
    section = definition.one(":domain")
    match section:
        case [_, str(name)]:
            if name == domain.name.lower() or not same_name:
                return
            hint = "give the domain and the problem that belong together"
            message = f"this problem is for the domain {quote(name)}, not for {quote(domain.name)}"
            raise definition.source.error(message, section, 1, hint)
        case None:
            message, tree = "the problem does not name its domain", definition.tree
        case _:
            message, tree = f"found {quote(section)}, expected '(:domain {domain.name})'", section
    raise definition.source.error(message, tree, None, f"add '(:domain {domain.name})'")


def _objects(definition: Definition, types: Types, constants: dict[str, Object]) -> dict[str, Object]:
    """Return the objects that are no constants already."""
    found: dict[str, Object] = {}
    for section in definition.all(":objects"):
        for name, item in read_objects(section, types, found).items():
            if name not in constants:
                found[name] = item
            elif not set(item.types) <= types.above(constants[name].types):
                kinds = " ".join(constants[name].types)
                message = f"the object {quote(name)} is a constant of the domain, of type {quote(kinds)}"
                raise types.source.error(message, section, section.index(name), "give it that type, or another name")
    return found


def _goal(definition: Definition, words: Vocabulary) -> Formula:
    section = definition.one(":goal")
    if section is None:
        return TRUE
    condition = subtree(definition.source, section, 1, "a condition")
    check_length(definition.source, section, 2, "the goal")
    return read_condition(condition, words, {})


def _metric(definition: Definition) -> Metric:
    section = definition.one(":metric")
    match section:
        case None:
            return Metric.LENGTH
        case [_, "minimize", [str(name)] | str(name)] if name == TOTAL_COST:
            return Metric.COST
        case [_, "minimize" | "maximize", _]:
            raise unsupported(definition.source, refused.METRIC, section)
        case [_, str(word), *_] if word not in ("minimize", "maximize"):
            hint = nearest(word, ("minimize", "maximize"))
            message = f"found {quote(word)}, expected 'minimize'"
            raise definition.source.error(message, section, 1, hint)
        case _:
            message = f"found {quote(section)}, expected '(:metric minimize (total-cost))'"
            raise definition.source.error(message, section)
