"""Problem files: what PDDL has, and the initial task network."""

from __future__ import annotations

import os

from htn.hddl.constraints import read_constraints
from htn.hddl.domains import read_domain
from htn.hddl.networks import network_parts, read_network
from htn.hddl.spelling import read_spelling
from htn.hddl.tasks import Heads
from htn.model import HtnDomain, HtnProblem, Network, Task, sealed
from planner.annotations import Final
from planner.collector import collector_paused
from planner.errors import UnsupportedError
from planner.model import Action, Variable
from planner.pddl.definitions import Definition, read_definition
from planner.pddl.problems import SECTIONS, WITHOUT_MEANING, classical_problem
from planner.pddl.text import read_text
from planner.pddl.trees import Source
from planner.pddl.vocabulary import Vocabulary
from planner.records import replace

_SECTIONS: Final = (*SECTIONS, ":htn")
_KEYS: Final = {":parameters": "variables"}


def read(domain: str | os.PathLike[str], problem: str | os.PathLike[str]) -> HtnProblem:
    """Return the problem in two HDDL files; raises what `parse_domain` and `parse_problem` raise."""
    return read_problem(problem, read_domain(domain))


def read_problem(path: str | os.PathLike[str], domain: HtnDomain) -> HtnProblem:
    """Return the problem for `domain` in the file at `path`; raises what `parse_problem` raises."""
    return parse_problem(read_text(path), domain, os.fspath(path))


@collector_paused()
def parse_problem(text: str, domain: HtnDomain, source: str = "<string>") -> HtnProblem:
    """Return the problem for `domain` that `text` defines; `source` names it in messages. Names become lower-case.

    Without a goal, it is enough that the tasks are done. With `(:metric minimize (total-cost))` plans cost what their
    actions do, without a metric their length. Which domain the problem names does not matter: in many files that belong
    together the names differ.

    Raises `PddlError` for mistakes, `UnsupportedError` for what is beyond the ADL level.
    """
    definition = read_definition(Source(text, source), "problem", _SECTIONS, WITHOUT_MEANING)
    classical, words = classical_problem(definition, domain.classical, same_name=False)
    if classical.domain.versions:
        construct = "preferences in preconditions that the metric counts, in hierarchical problems"
        raise UnsupportedError(construct, "leave them out of the metric")
    if domain.classical.unfinished.is_any:
        domain = replace(domain, classical=classical.domain)
    network, parameters = _initial_network(definition, words, domain)
    return sealed(HtnProblem(domain, classical, network, parameters, read_spelling(definition.source)))


def _initial_network(
    definition: Definition, words: Vocabulary, domain: HtnDomain
) -> tuple[Network, tuple[Variable, ...]]:
    section = definition.one(":htn")
    if section is None:
        hint = "add '(:htn :subtasks (and …))'"
        message = "the problem has no initial task network"
        raise definition.source.error(message, definition.tree, len(definition.tree), hint)
    parts = network_parts(definition.source, section, 1, _KEYS, "the initial task network")
    declared = words.types.variables(parts.get(":parameters", []))
    constraints, parameters = read_constraints(parts.get(":constraints", []), words, declared)
    known: dict[str, Task | Action] = {**domain.tasks, **domain.classical.actions}
    heads = Heads(words, {name: each.parameters for name, each in known.items()})
    bound = {variable.name: variable for variable in parameters}
    return read_network(parts, heads, bound, constraints), parameters
