"""Problem files: sections to the problem of the model."""

from __future__ import annotations

import os
from collections.abc import Iterable

from planner.annotations import Final
from planner.collector import collector_paused
from planner.model import And, Constraint, DomainModel, Goal, Object, Problem, SoftGoal
from planner.model.constraints import Stated
from planner.model.domain import Unfinished
from planner.model.problem import sealed
from planner.pddl.conditions import check_length, read_condition, subtree
from planner.pddl.declarations import read_objects
from planner.pddl.definitions import Definition, read_definition
from planner.pddl.domains import read_domain
from planner.pddl.initial import read_initial
from planner.pddl.metrics import Weights, read_metric
from planner.pddl.preferences import has_preferences, instances, read_constraints, read_goal
from planner.pddl.text import read_text
from planner.pddl.trees import Source, nearest, quote
from planner.pddl.typed import Types
from planner.pddl.unfinished import with_constants, with_counted_preferences
from planner.pddl.vocabulary import Vocabulary
from planner.records import replace

SECTIONS: Final = (":domain", ":objects", ":init", ":goal", ":constraints", ":metric")
WITHOUT_MEANING: Final = frozenset({":requirements", ":length", ":situation", ":irrelevant", ":goal-reward"})
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

    With `(:metric minimize (total-cost))` plans cost what their actions do, without a metric their length. Constraints
    and preferences are those of PDDL 3; a preference is worth what the metric says, and nothing without it.

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
    if domain.unfinished.undeclared:
        domain = with_constants(domain, types, {**constants, **objects})
        constants = {constant.name: constant for constant in domain.constants}
        objects = {name: item for name, item in objects.items() if name not in constants}
    words = Vocabulary(definition.source, types, dict(domain.predicates), constants | objects, dict(domain.functions))
    initial, values, unmentioned = read_initial(definition.all(":init"), words, domain.derived)
    weights = read_metric(definition)
    goal, constraints = _demands(definition, words, weights, domain.unfinished)
    domain = domain if weights.costs else without_action_costs(domain)
    if domain.unfinished.is_any:
        domain = replace(with_counted_preferences(domain, weights.worth, words), unfinished=Unfinished())
    stated = Problem(definition.name, domain, tuple(objects.values()), initial, goal, values, weights.metric)
    stated = replace(stated, unmentioned=unmentioned) if unmentioned else stated
    return sealed(replace(stated, constraints=constraints) if constraints else stated), words


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


def _demands(
    definition: Definition, words: Vocabulary, weights: Weights, unfinished: Unfinished
) -> tuple[Goal, tuple[Constraint, ...]]:
    """Return what must hold at the end and on the way, and what would be good to hold, by its worth."""
    templates = [*_goal(definition, words), *unfinished.constraints]
    for section in definition.all(":constraints"):
        templates += read_constraints(section, words)
    in_preconditions = [each for found in unfinished.preferences.values() for each in found]
    known = {each.preference for each in (*templates, *in_preconditions) if each.preference}
    stated = list(instances(templates, words))
    for name in weights.worth:
        if name not in known:
            message = f"the metric speaks of the preference {quote(name)}, and there is none"
            raise definition.source.error(message, definition.all(":metric")[0], None, nearest(name, known))
    hard = [each.wanted for each in stated if not each.preference]
    soft = [(each.wanted, weights.worth.get(each.preference, 0)) for each in stated if each.preference]
    goals = [each for each in hard if not isinstance(each, Constraint)]
    wishes = tuple([SoftGoal(each, worth) for each, worth in soft if worth and not isinstance(each, Constraint)])
    ways = [each for each in hard if isinstance(each, Constraint)]
    ways += [replace(each, utility=worth) for each, worth in soft if worth and isinstance(each, Constraint)]
    return Goal(goals[0] if len(goals) == 1 else And(tuple(goals)), wishes), tuple(ways)


def _goal(definition: Definition, words: Vocabulary) -> Iterable[Stated]:
    section = definition.one(":goal")
    if section is None:
        return ()
    condition = subtree(definition.source, section, 1, "a condition")
    check_length(definition.source, section, 2, "the goal")
    if has_preferences(condition, words):
        return read_goal(condition, words)
    return (Stated(read_condition(condition, words, {})),)


def without_action_costs(domain: DomainModel) -> DomainModel:
    """Return `domain` with actions that cost nothing, as where a metric leaves out the total cost."""
    return replace(domain, actions={name: replace(each, cost=()) for name, each in domain.actions.items()})
