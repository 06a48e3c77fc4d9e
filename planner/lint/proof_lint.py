"""Lint by proof: problems that are proved to have no plan, and conditions that are proved never to hold together.

A short search decides whether there is a plan. Where there is none, the finding stands at what explanations blame: a
deadline, a window, a capacity, or the goal; and what else lint found about the way to the goal counts for more.
Conditions of actions exclude each other by the mutexes of h² (Haslum and Geffner, 2000) in the initial state's task.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from planner.errors import ForethoughtError, UnsupportedError
from planner.lightweight import Final, replace
from planner.limits import LimitReached, Limits, Stop
from planner.lint.findings import Finding, Level, givers_of
from planner.lint.repair_lint import Judge, find_repairs, report_repairs
from planner.model.actions import Action
from planner.model.domain import creates_objects, may_find_out
from planner.model.formulas import Atom, Formula, Not, conjuncts, substitute
from planner.model.object_names import protect_quoted
from planner.model.problem import Goal, Problem, is_numeric, is_temporal
from planner.model.unknown_numbers import find_unread
from planner.options import SolveOptions
from planner.plan import Result, Status, unsupported_result
from planner.problem_kinds import AnyProblem

if TYPE_CHECKING:
    from planner.explain.single_repairs import Repair
    from planner.explain.temporal_promises import Promise
    from planner.explain.unreachable_goals import Unreachable
    from planner.grounding.reachability import SchemaRules

SECONDS: Final = 2.0
"""Most processor time of the search for a plan: where others keep the machine busy, proofs are found as well."""
REPAIRED: Final = 30.0
"""Most time by the clock of the search for single changes that give a plan."""
EXPLAINED: Final = 3.0
"""Most time of the explanation why there is none."""
MOST_SECONDS: Final = 12.0
"""Most time of that search by the clock."""
SHARE: Final = 0.4
"""Most part of the time of a check that each of both takes."""
MUTEX_SECONDS: Final = 2.0
"""Most time of the search for conditions that exclude each other."""

PROVED: Final = frozenset(
    {"unreachable-goal", "contradicting-goal", "unreachable-number", "past-deadline", "impossible-task"}
    | {"two-goal-values", "broken-constraint", "unreachable-constraint"}
)
"""Rules whose errors prove that there is no plan."""
CAUSES: Final = frozenset({"too-much-held", "window-too-short", "no-value", "never-applies"} | {"empty-type"})
"""Rules that find what may keep a problem from having a plan."""
CONSEQUENCES: Final = frozenset({"dead-end", "useless-action"})
"""Rules that suppose that there is a plan."""


def judge_by_proof(
    problem: AnyProblem,
    found: list[Finding],
    limits: Limits,
    relevant: Iterable[str],
    *,
    repairs: Callable[[], Sequence[Repair]],
    judge: Judge,
) -> list[Finding]:
    """Return `found`, with an error where `problem` is proved to have no plan, and its causes told as loudly.

    `relevant` are the declarations, such as "action drive", on which the goal may rest. Of the single changes `repairs`
    those are told that give a plan, the best by what `judge` says of the changed problems.
    """
    errors = [each for each in found if each.level is Level.ERROR]
    proved = any(each.rule in PROVED for each in errors)
    result = None if proved else _search(problem, limits)
    if result is not None and result.status is Status.UNSUPPORTED:
        return [*found, Finding(Level.WARNING, "refused", "problem", f"solve refuses it: {result.reason}")]
    reason = _reason_of(result)
    if not proved and reason is None:
        is_open = result is not None and result.plan is None and _is_endless(problem)
        return [*found, *_doubt(repairs(), judge, limits)] if is_open else found
    candidates = repairs()
    helping = find_repairs(candidates, judge, _part(limits, REPAIRED))
    if helping:  # a fact that does not help alone is no forgotten one
        useless = {each.states for each in candidates} - {each.states for each in helping} - {""}
        found = [each for each in found if each.rule != "missing-fact" or each.states not in useless]
    if reason is not None:
        found = [*found, _blame(problem, reason, limits, is_explained=bool(helping))]
    known = frozenset(relevant)
    told = [_raise(each, known) for each in found if each.rule not in CONSEQUENCES]
    blamed = {each.place for each in errors if each.place.startswith("constraint")}
    return [*told, *report_repairs([each for each in helping if each.place not in blamed])]


def find_proof(problem: AnyProblem, limits: Limits) -> str | None:
    """Return the reason, perhaps "", of a proof that `problem` has no plan; None without a proof in a short time."""
    return _reason_of(_search(problem, limits))


def _reason_of(result: Result | None) -> str | None:
    return result.reason if result is not None and result.status is Status.UNSOLVABLE else None


def _search(problem: AnyProblem, limits: Limits) -> Result | None:
    """Return what a short search for any plan or a proof comes to; None where the problem has a mistake."""
    from planner.compilations.unlisted_objects import qualify_by_findings
    from planner.solve import answer

    until = time.process_time() + SECONDS
    stop = Stop(limits.cancel, lambda: time.process_time() > until)
    options = SolveOptions().within(_part(limits, MOST_SECONDS), on_progress=stop.end_at_plan, cancel=stop)
    try:
        result = answer(problem, options)
        if isinstance(problem, Problem) and may_find_out(problem.domain):
            result = qualify_by_findings(problem, result)
    except UnsupportedError as error:
        return unsupported_result(error.construct, error.hint)
    except ForethoughtError:
        return None
    return result


FEW_OBJECTS: Final = 12
FEW_ACTIONS: Final = 15
"""Most objects and actions of a model of which it is strange that a short search finds no plan."""


def _is_endless(problem: AnyProblem) -> bool:
    """Return whether `problem` is small, and may have endlessly many states: time, numbers, or objects of steps."""
    classical = problem if isinstance(problem, Problem) else getattr(problem, "classical", None)
    if not isinstance(classical, Problem) or find_unread(classical):
        return False
    is_small = len(classical.all_objects) <= FEW_OBJECTS and len(classical.domain.actions) <= FEW_ACTIONS
    return is_small and (is_numeric(classical) or is_temporal(classical) or creates_objects(classical.domain))


def _doubt(repairs: Sequence[Repair], judge: Judge, limits: Limits) -> Iterator[Finding]:
    """Yield hints at single changes with which there is a plan, where a short search has neither plan nor proof."""
    for each in report_repairs(find_repairs(repairs, judge, _part(limits, REPAIRED))):
        message = each.message.replace("there is a plan", f"a search of {SECONDS:.0f} s finds no plan, but one", 1)
        yield replace(each, level=Level.HINT, message=message)


def _part(limits: Limits, seconds: float) -> Limits:
    left = limits.remaining
    return limits.part(seconds if left is None else min(seconds, SHARE * left))


def _raise(finding: Finding, relevant: frozenset[str]) -> Finding:
    """Return `finding` as serious as it is where there is no plan."""
    if finding.rule not in CAUSES or (finding.place.startswith("action ") and finding.place not in relevant):
        return finding
    if finding.level is Level.HINT:
        return replace(finding, level=Level.WARNING)
    return replace(finding, level=Level.ERROR)


def _blame(problem: AnyProblem, reason: str, limits: Limits, *, is_explained: bool) -> Finding:
    """Return the finding that there is no plan, at what an explanation blames.

    Where single changes explain it, no facts are suggested that would lead around the mistake.
    """
    message = f"there is no plan: {reason}" if reason else "there is no plan: search proves that nothing reaches it"
    place = "goal" if isinstance(problem, Problem) else "the initial tasks"
    hint = ""
    try:
        if isinstance(problem, Problem) and is_temporal(problem):
            place, hint = _blame_time(problem, limits)
        elif isinstance(problem, Problem) and not is_explained:
            hint = _suggest_facts(problem, limits)
    except (ForethoughtError, LimitReached):
        hint = ""
    return Finding(Level.ERROR, "no-plan", place, message, hint)


def _blame_time(problem: Problem, limits: Limits) -> tuple[str, str]:
    """Return the place of the promise in time that cannot be kept, and which change of it would help."""
    from planner.explain.timed_unsolvability import explain_no_plan_in_time

    found = explain_no_plan_in_time(problem, _part(limits, EXPLAINED))
    helping = [each for each in found.relaxations if each.plan is not None]
    promises = [each.promise for each in helping] or [each for own in found.conflicts[:1] for each in own.promises]
    if not promises or found.blames_time is False:
        return "goal", ""
    change = helping[0] if helping else None
    hint = f"there is one with this change: {change.promise.describe(change.most)}" if change and change.most else ""
    return _place_of(promises[0]), hint


def _place_of(promise: Promise) -> str:
    from planner.explain.temporal_promises import Kind

    match promise.kind:
        case Kind.DEADLINE:
            return "deadline"
        case Kind.DUE:
            return f"deadline of {promise.what}"
        case Kind.WINDOW:
            return f"window of {promise.what}"
    return f"capacity {promise.what}"


def _suggest_facts(problem: Problem, limits: Limits) -> str:
    """Return which initial facts would give a plan, as long as these are few and not the goal itself."""
    from planner.explain.unsolvability import explain_unsolvable

    change = explain_unsolvable(problem, _part(limits, EXPLAINED)).change
    if change is None or change.uses_goal or len(change.assumptions) > 2:
        return ""
    facts = " and ".join(map(str, change.assumptions))
    return f"there is one with {facts} from the start: is that forgotten, or is an effect missing that gives it?"


def names_known_objects(fact: str, problem: Problem) -> bool:
    """Return whether `problem` has all objects of `fact`; a step creates others, of which nothing can be stated."""
    known = {each.name for each in problem.all_objects}
    plain, terms = protect_quoted(fact)
    return all(terms.get(each, each) in known for each in plain.partition("(")[2].rstrip(")").split(", ") if each)


def add_causes(found: list[Finding], problem: Problem, source: Problem, limits: Limits) -> list[Finding]:
    """Return `found` with the reasons why facts of the goal are out of reach, and a fact that seems forgotten.

    `problem` is `source` with the objects that steps create.
    """
    unreached = [each for each in found if each.rule == "unreachable-goal"]
    if not unreached:
        return found
    from planner.explain.unsolvability import find_unreachable_parts

    try:
        parts = find_unreachable_parts(problem, _part(limits, EXPLAINED))
    except ForethoughtError:
        return found
    reasons = {part.goal: _describe_missing(part, problem) for part in parts}
    told = [replace(x, hint=reasons.get(str(x.part)) or x.hint) if x in unreached else x for x in found]
    forgotten = _find_forgotten(parts, problem)
    return [*told, *[each for each in forgotten if names_known_objects(each.states, source)]]


def _describe_missing(part: Unreachable, problem: Problem) -> str:
    """Return what is missing for a part of the goal, and what needs it."""
    first = part.missing[0] if part.missing else None
    if first is None or first.fact == part.goal:
        return ""
    begin = _find_beginning(part, problem)
    if begin:
        return f"missing is {begin}, which is needed for itself: state it, or let another action give it"
    needed = f", which {first.needed_by[0]} needs" if first.needed_by else ""
    return f"missing is {first.fact}{needed}: {first.cause.value}"


def _find_beginning(part: Unreachable, problem: Problem) -> str:
    """Return the fact, of the fewest objects, with which a circle of needs might begin: none of its kind is stated."""
    from planner.explain.unreachable_goals import Cause

    if all(each.cause is not Cause.CIRCULAR for each in part.missing):
        return ""
    stated = {fact.predicate for fact in problem.initial}
    given = givers_of(problem.domain)
    names = {each.fact: each.fact.partition("(")[0] for each in part.links if each.fact != part.goal}
    facts = [fact for fact, name in names.items() if name not in stated and name in given]
    return min(facts, key=lambda fact: fact.count(",") + ("(" in fact), default="")


def _find_forgotten(parts: Sequence[Unreachable], problem: Problem) -> Iterator[Finding]:
    """Yield the first fact that seems forgotten in the initial state.

    Either it is needed for itself, so that nothing of its kind ever begins, or other objects have such facts.
    """
    from planner.explain.unreachable_goals import Cause

    stated = {fact.predicate: fact for fact in problem.initial}
    given = givers_of(problem.domain)
    for part in parts:
        begin = _find_beginning(part, problem)
        lacking = [x.fact for x in part.missing if x.cause in (Cause.STATIC, Cause.NO_PROVIDER) and x.fact != part.goal]
        alike = next((x for x in lacking if x.partition("(")[0] in stated.keys() - given.keys()), "")
        fact = begin or alike
        if fact:
            like = stated.get(fact.partition("(")[0])
            why = (
                f"other objects have such facts, as {like}" if like else "no step that gives it can be done without it"
            )
            message = f"{fact} is not stated; {part.goal} of the goal needs it, and {why}"
            hint = f"state {fact}, if it holds"
            yield Finding(Level.WARNING, "missing-fact", "initial", message, hint, part=like or "", states=fact)
            return


def check_exclusive_conditions(problem: Problem, schemas: Iterable[SchemaRules], limits: Limits) -> Iterator[Finding]:
    """Yield the actions whose conditions never hold together, though each of them can."""
    if is_temporal(problem) or any(a.duration for a in problem.domain.actions.values()):
        return
    candidates = [(rules, pairs) for rules in schemas if (pairs := _pairs_of(rules, problem))]
    if not candidates:
        return
    try:
        exclude = _find_mutexes(problem, limits.part(MUTEX_SECONDS))
    except (ForethoughtError, LimitReached):
        return
    for rules, pairs in candidates:
        clash = _find_clash(rules, pairs, exclude)
        if clash is not None:
            one, other = clash
            both = f"{one} and {other}".replace("?", "")
            message = f"it can never apply: {both} never hold at once, in no state that steps lead to"
            place, hint = f"action {rules.schema.action.name}", "leave one out, or look at what gives and ends them"
            part = other.part if isinstance(other, Not) else other
            assert isinstance(part, Atom)
            yield Finding(Level.HINT, "never-applies", place, message, hint, "requires", part)


Condition = Atom | Not


def _pairs_of(rules: SchemaRules, problem: Problem) -> list[tuple[Condition, Condition]]:
    """Return the pairs of literals that the action requires, if it is one of `problem` without alternatives."""
    action: Action | None = problem.domain.actions.get(rules.schema.action.name)
    if action is None or not rules.rule.found.rows:
        return []
    literals = [x for x in conjuncts(action.requires) if isinstance(x.part if isinstance(x, Not) else x, Atom)]
    return [pair for pair in itertools.combinations(literals, 2) if all(isinstance(x, Atom | Not) for x in pair)]  # type: ignore[misc]


class _Exclusion:
    """Which ground literals never hold together, by the pairs that h² leaves."""

    def __init__(self, numbers: dict[Formula, int], rows: dict[int, int]) -> None:
        self._numbers, self._rows = numbers, rows

    def are_exclusive(self, one: Formula, other: Formula) -> bool:
        """Return whether both literals are known and never hold together."""
        first, second = self._numbers.get(one), self._numbers.get(other)
        return first is not None and second is not None and bool(self._rows[first] >> second & 1)


def _find_mutexes(problem: Problem, limits: Limits) -> _Exclusion:
    """Return the pairs of facts that no reachable state has, whatever numbers are; raises `LimitReached`."""
    from planner.compilations.number_abstraction import abstract_numbers
    from planner.grounding.ground import ground
    from planner.jit import library
    from planner.pruning.h2 import Pruning

    plain = replace(problem, goal=Goal(), constraints=(), seal=())
    if is_numeric(problem):
        plain = abstract_numbers(plain).problem
    task = ground(plain, limits, whole=True)
    pruning = Pruning(task, limits.check, library.load("h2", "disambiguation"))
    for _ in pruning.steps():
        limits.check()
    unreachable, _ = pruning.find_mutexes(range(len(task.facts)))
    numbers: dict[Formula, int] = {fact: number for number, fact in enumerate(task.facts)}
    return _Exclusion(numbers, {number: unreachable[number] for number in numbers.values()})


def _find_clash(
    rules: SchemaRules, pairs: list[tuple[Condition, Condition]], exclude: _Exclusion
) -> tuple[Condition, Condition] | None:
    """Return a pair of literals, as the action has them, if each instance has one that excludes the rest."""
    names = rules.rule.names
    clashes: list[tuple[Condition, Condition]] = []
    for row in rules.rule.found.rows:
        binding = dict(zip(names, row, strict=True))
        found = next(
            (
                pair
                for pair in [*clashes[:1], *pairs]
                if exclude.are_exclusive(substitute(pair[0], binding), substitute(pair[1], binding))
            ),
            None,
        )
        if found is None:
            return None
        clashes.append(found)
    return clashes[0] if clashes else None
