"""Lint of values and costs: functions without a value that something needs, and steps that cost nothing.

Steps that cost nothing and can be undone for nothing let plans run in circles: a search for the cheapest plan gains
nothing by leaving them out.
"""

from __future__ import annotations

import difflib
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from planner.errors import InputError
from planner.grounding.action_tables import make_cost_function, make_use_function
from planner.lightweight import Final
from planner.lint.findings import Finding, Level, Mend, conjoined_atoms
from planner.lint.role_lint import find_acyclic
from planner.model.actions import Action, CostFunction, negated_atoms, positive_atoms
from planner.model.domain import DomainModel, amounts_of, numeric_effects, written_predicates
from planner.model.formulas import Arithmetic, Atom, Comparison, Number, conjuncts, functions_in, is_variable
from planner.model.problem import TOTAL_COST, Metric, Problem
from planner.model.unknown_numbers import find_unread
from planner.semantics.undefined_values import name_needed

if TYPE_CHECKING:
    from planner.grounding.joins import Row
    from planner.grounding.reachability import SchemaRules

MOST_NAMED: Final = 3
"""Steps that a finding names."""
MOST: Final = 200_000
"""Instances of an action of which the values are looked at."""


def check_amounts(
    problem: Problem, undefined: Iterable[tuple[SchemaRules, Sequence[Row]]], applied: Collection[str]
) -> Iterator[Finding]:
    """Yield functions without a value that an amount of a step needs, with the steps that never apply because of it.

    `undefined` has the steps that apply but for that. Only some actions are `applied` at all.
    """
    arities = {each.predicate: len(each.args) for each in problem.values}
    unread = frozenset(find_unread(problem))
    steps: dict[Atom, dict[str, tuple[Action, Atom, str]]] = {}
    for rules, rows in undefined:
        action = problem.domain.actions.get(rules.schema.action.name)
        if action is None:
            continue
        needed = name_needed(action, problem)
        for row in rows:
            binding = dict(zip(rules.rule.names, row, strict=True))
            step = str(Atom(action.name, tuple([binding[each.name] for each in action.parameters])))
            for amount, what in needed.items():
                for term in functions_in(amount):
                    missing = term.substitute(binding)
                    if missing not in problem.values and missing not in unread:
                        steps.setdefault(missing, {})[step] = action, term, what
    told = set[str]()
    for missing, found in steps.items():
        if missing.predicate in told:
            continue
        told.add(missing.predicate)
        action, term, what = next(iter(found.values()))
        meant = _find_meant(missing.predicate, problem.domain, arities)
        if meant is not None:
            yield _report_misspelt(action, term, meant)
            continue
        others = sum(missing.predicate == each.predicate for each in steps) - 1
        message = f"the {what} of action {action.name} needs {missing}, which has no value: {_name_steps(found)} never "
        message += "applies" if len(found) == 1 else "apply"
        if others:
            message += f"; so it is with {others} other value{'s' if others > 1 else ''} of {missing.predicate}"
        lost = {each.name for each, _, _ in found.values()} - {*applied}
        level = Level.WARNING if lost else Level.HINT  # a value may be missing on purpose: no road leads there
        yield Finding(level, "no-value", "values", message, f"state it, for example {missing} = 1", part=missing)


def _name_steps(steps: Collection[str]) -> str:
    named = ", ".join(islice(steps, MOST_NAMED))
    return named + (f" and {len(steps) - MOST_NAMED} other steps" if len(steps) > MOST_NAMED else "")


def check_values(problem: Problem, schemas: Iterable[SchemaRules]) -> Iterator[Finding]:
    """Yield functions without a value that an amount, an effect or a condition of a reachable step needs."""
    if not problem.domain.functions:
        return
    changed = {
        effect.fluent.predicate for action in problem.domain.actions.values() for effect in numeric_effects(action)
    }
    assigned = {
        x.fluent.predicate for y in problem.domain.actions.values() for x in numeric_effects(y) if x.operator == ":="
    }
    told, unread = set[Atom](), frozenset(find_unread(problem))
    arities = {each.predicate: len(each.args) for each in problem.values}
    for rules in schemas:
        name = rules.schema.action.name
        action = problem.domain.actions.get(name)
        if action is None:
            continue
        for term, what, is_needed in _needed_terms(action):
            missing = next((each for each in _missing_values(term, rules, problem) if each not in unread), None)
            if missing is not None and missing not in told and term.predicate != TOTAL_COST.predicate:
                told.add(missing)
                meant = _find_meant(term.predicate, problem.domain, arities)
                if meant is not None:
                    yield _report_misspelt(action, term, meant)
                    continue
                level = Level.ERROR if is_needed and term.predicate not in changed else Level.WARNING
                is_open = not is_needed and (term.predicate in assigned or term.predicate not in changed)
                level = Level.HINT if is_open else level  # a static value may be missing on purpose: nobody sells it
                message = f"the {what} of action {name} needs {missing}, which has no value"
                hint = f"state it, for example {missing} = 1"
                yield Finding(level, "no-value", "values", message, hint, part=missing)


def _find_meant(name: str, domain: DomainModel, arities: Mapping[str, int]) -> str | None:
    """Return the function with values, of those with `arities`, that `name`, which has none, may misspell."""
    if name in arities:
        return None
    size = len(domain.functions[name].parameters) if name in domain.functions else -1
    known = [other for other, number in arities.items() if number == size]
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.75)
    return near[0] if near else None


def _report_misspelt(action: Action, term: Atom, meant: str) -> Finding:
    message = f"function {term.predicate} has no values, and {meant} has"
    place, mend = f"action {action.name}", Mend("replace", "", term.predicate, meant)
    return Finding(Level.ERROR, "misspelt", place, message, f"did you mean '{meant}'?", "", term.predicate, mend=mend)


def _needed_terms(action: Action) -> Iterator[tuple[Atom, str, bool]]:
    """Yield the terms that need a value, what needs it, and whether reading fails without it."""
    paid = [*action.cost, *[term for terms in (*action.uses.values(), *action.holds.values()) for term in terms]]
    for amount in amounts_of(action):
        if not isinstance(amount, CostFunction):
            what = "cost" if amount in paid else "duration"
            yield from ((term, what, amount in paid) for term in functions_in(amount))
    for effect in numeric_effects(action):
        yield from ((term, "effect", False) for term in functions_in(effect.value))
        if effect.operator != ":=":
            yield effect.fluent, "effect", False
    for part in conjuncts(action.requires):
        if isinstance(part, Comparison):
            yield from ((term, "condition", False) for term in part.functions)


def check_costs(problem: Problem, schemas: Iterable[SchemaRules]) -> Iterator[Finding]:
    """Yield the actions of which an expression makes a reachable step cost, or use, less than 0."""
    for rules in schemas:
        action = problem.domain.actions.get(rules.schema.action.name)
        if action is None or not any(isinstance(term, Arithmetic) for term in amounts_of(action)):
            continue
        amounts = [make_cost_function(action, problem)]
        amounts += [make_use_function(resource, action, problem) for resource in action.uses]
        names = rules.rule.names
        if all(each.name in names for each in action.parameters):
            places = [names.index(each.name) for each in action.parameters]
            rows = (tuple([row[place] for place in places]) for row in islice(rules.rule.found.rows, MOST))
            yield from islice(filter(None, (_judge_amounts(action, amounts, row) for row in rows)), 1)


def _judge_amounts(action: Action, amounts: Sequence[Callable[[Row], Number]], row: Row) -> Finding | None:
    try:
        for amount in amounts:
            amount(row)
    except InputError as error:
        return Finding(Level.ERROR, "input", f"action {action.name}", error.message, error.hint or "", "cost")
    return None


def _missing_values(term: Atom, rules: SchemaRules, problem: Problem) -> Iterator[Atom]:
    names = rules.rule.names
    if any(is_variable(arg) and arg not in names for arg in term.args):
        return
    places = [names.index(arg) if is_variable(arg) else arg for arg in term.args]
    seen: set[Atom] = set()
    for number, row in enumerate(rules.rule.found.rows):
        if number > MOST:
            return
        fact = Atom(term.predicate, tuple([row[each] if isinstance(each, int) else each for each in places]))
        if fact not in seen and fact not in problem.values:
            yield fact
        seen.add(fact)


def check_metric(problem: Problem) -> Iterator[Finding]:
    """Yield that actions have costs, and the metric counts steps, as it does in PDDL where there is none."""
    paid = [each.name for each in problem.domain.actions.values() if any(term != 1 for term in each.cost)]
    if problem.metric is Metric.LENGTH and paid:
        message = f"the costs of {paid[0]}{' and others' if len(paid) > 1 else ''} do not count: each step costs 1"
        hint = "add (:metric minimize (total-cost))"
        yield Finding(Level.WARNING, "no-metric", "problem", message, hint)


def check_free_actions(domain: DomainModel, problem: Problem | None) -> Iterator[Finding]:
    """Yield the actions that cost nothing where others cost something."""
    actions = list(domain.actions.values())
    free = [action for action in actions if _is_free(action)]
    if not free or len(free) == len(actions):
        return
    givers: dict[str, list[Action]] = defaultdict(list)
    for action in free:
        for name in {atom.predicate for atom in positive_atoms(action.provides)}:
            givers[name].append(action)
    ordered = frozenset[str]() if problem is None else find_acyclic(problem) - written_predicates(domain)
    for action in free:
        undone = None if _runs_one_way(action, ordered) else _find_undoing(action, givers)
        if undone:
            by = "itself" if undone is action else f"action {undone.name}"
            message = f"it costs nothing, and {by} undoes it for nothing: plans may run in circles"
            yield Finding(Level.HINT, "free-loop", f"action {action.name}", message, "give it a cost", "cost")
        elif any(action.uses.values()) or len(free) == 1 < len(actions) - 2:
            uses = f", though it uses {', '.join(action.uses)}" if action.uses else " and all others cost something"
            message = f"it costs nothing{uses}"
            yield Finding(Level.HINT, "free-action", f"action {action.name}", message, "give it a cost", "cost")


def _is_free(action: Action) -> bool:
    return all(isinstance(term, Number) and term == 0 for term in action.cost)


def _find_undoing(action: Action, givers: Mapping[str, list[Action]]) -> Action | None:
    """Return the action of `givers` that brings back all that `action` ends, and ends all that it gives, or None."""
    gives = {atom.predicate for atom in positive_atoms(action.provides)}
    ends = {atom.predicate for atom in (*negated_atoms(action.provides), *action.modifies)}
    if not gives or not ends:
        return None
    for other in givers.get(min(ends), ()):
        back = {atom.predicate for atom in positive_atoms(other.provides)}
        away = {atom.predicate for atom in (*negated_atoms(other.provides), *other.modifies)}
        if ends <= back and gives <= away:
            return other
    return None


def _runs_one_way(action: Action, ordered: frozenset[str]) -> bool:
    """Return whether one of the static relations without circles orders the values that `action` moves between."""
    return any(atom.predicate in ordered for atom in conjoined_atoms(action.requires))
