"""Lint: each rule on a small domain that breaks it, and on one that does not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from planner.language.declare import Domain
from planner.limits import Limits
from planner.lint.findings import Finding, Level
from planner.lint.problem_lint import check_domain, check_problem
from planner.model.actions import Action, When
from planner.model.domain import DomainModel, Predicate
from planner.model.formulas import TRUE, And, Atom, Equals, Not, Object, Variable
from planner.model.problem import Goal, Problem

R, A, B = Variable("?r", ("robot",)), Variable("?a", ("room",)), Variable("?b", ("room",))
MOVE = Action(
    "move",
    (R, A, B),
    requires=And((Atom("at", ("?r", "?a")), Atom("door", ("?a", "?b")))),
    provides=(Atom("at", ("?r", "?b")),),
    modifies=(Atom("at", ("?r", "_")),),
)


def domain(*actions: Action, more: tuple[Predicate, ...] = (), types: tuple[str, ...] = ()) -> DomainModel:
    predicates = (Predicate("at", (R, A)), Predicate("door", (A, B)), *more)
    return DomainModel(
        "office",
        types=dict.fromkeys(("robot", "room", *types), ("object",)),
        predicates={predicate.name: predicate for predicate in predicates},
        actions={action.name: action for action in actions},
    )


def problem(of: DomainModel, *goal: Atom | Not, initial: tuple[Atom, ...] = ()) -> Problem:
    return Problem(
        "small",
        of,
        objects=(Object("r", ("robot",)), Object("hall", ("room",)), Object("lab", ("room",))),
        initial=(Atom("at", ("r", "hall")), Atom("door", ("hall", "lab")), *initial),
        goal=Goal(And(goal or (Atom("at", ("r", "lab")),))),
    )


def told(findings: list[Finding]) -> list[str]:
    return [str(finding) for finding in findings]


def test_nothing_is_said_about_a_clean_domain() -> None:
    clean = domain(MOVE)
    assert told(check_domain(clean)) == []
    assert told(check_problem(problem(clean))) == []


DOMAINS = {
    "unused parameter": (
        domain(replace(MOVE, parameters=(*MOVE.parameters, Variable("?c", ("room",))))),
        (
            "warning: action move: the parameter 'c' is used in no condition, effect or cost; it only multiplies the"
            " ground actions: leave it out [unused-parameter]"
        ),
    ),
    "requires an atom and its negation": (
        domain(
            MOVE,
            Action(
                "odd",
                (R, A),
                And((Atom("at", ("?r", "?a")), Not(Atom("at", ("?r", "?a"))))),
                MOVE.provides[:0],
                (Atom("at", ("?r", "_")),),
            ),
        ),
        (
            "error: action odd: it can never apply: what it requires contradicts itself (both at(?r, ?a) and not at(?r,"
            " ?a)) [contradicting-requires]"
        ),
    ),
    "requires a contradiction through equality": (
        domain(
            replace(
                MOVE,
                requires=And((MOVE.requires, Equals("?a", "?b"), Not(Equals("?b", "?a")))),
            )
        ),
        (
            "error: action move: it can never apply: what it requires contradicts itself (?b != ?a cannot hold)"
            " [contradicting-requires]"
        ),
    ),
    "a condition that never holds": (
        domain(replace(MOVE, when=(When(Not(Atom("door", ("?a", "?b"))), (Not(Atom("at", ("?r", "?a"))),)),))),
        (
            "warning: action move: an effect under the condition 'not door(?a, ?b)' never happens (both door(?a, ?b)"
            " and not door(?a, ?b)) [contradicting-when]"
        ),
    ),
    "provides and ends": (
        domain(replace(MOVE, provides=(*MOVE.provides, Not(Atom("at", ("?r", "?b")))))),
        (
            "warning: action move: it provides both at(?r, ?b) and not at(?r, ?b): adding wins, so the latter does"
            " nothing [provides-and-ends]"
        ),
    ),
    "no effect": (
        domain(MOVE, Action("wait", (), TRUE)),
        "warning: action wait: it provides and modifies nothing [no-effect]",
    ),
    "an effect that is known": (
        domain(replace(MOVE, provides=(*MOVE.provides, Atom("door", ("?a", "?b"))))),
        "hint: action move: it provides door(a, b), which it also requires: that changes nothing [known-effect]",
    ),
    "unused predicate": (
        domain(MOVE, more=(Predicate("lit", (A,)),)),
        "warning: predicate lit: it is used nowhere in the domain [unused-predicate]",
    ),
    "provided, never required": (
        domain(replace(MOVE, provides=(*MOVE.provides, Atom("moved", ()))), more=(Predicate("moved"),)),
        (
            "hint: predicate moved: nothing requires it, though action move provides it; it may be a goal of some"
            " problem [never-required]"
        ),
    ),
    "required under a name that looks misspelt": (
        domain(
            MOVE,
            Action("enter", (A,), Atom("opend", ("?a",)), (Atom("opened", ("?a",)),)),
            more=(Predicate("opend", (A,)), Predicate("opened", (A,))),
        ),
        (
            "hint: predicate opend: action enter requires it and no action provides it; unless initial states do, it is"
            " misspelt; did you mean 'opened'? [never-provided]"
        ),
    ),
    "unused type": (
        domain(MOVE, types=("plane",)),
        "hint: type plane: no parameter, constant or other type uses it [unused-type]",
    ),
}


@pytest.mark.parametrize(("subject", "expected"), DOMAINS.values(), ids=DOMAINS)
def test_domain_findings(subject: DomainModel, expected: str) -> None:
    assert expected in told(check_domain(subject))


FLY = Action("fly", (Variable("?p", ("plane",)), A), TRUE, (Atom("at", ("?p", "?a")),))
ENTER = Action("enter", (A,), Atom("open", ("?a",)), (Atom("entered"),))
PROBLEMS = {
    "no object of a type": (
        problem(domain(MOVE, FLY, types=("plane",))),
        "hint: action fly: it can never apply: there is no object for ?p - plane [empty-type]",
    ),
    "nothing provides a predicate": (
        problem(domain(MOVE, ENTER, more=(Predicate("open", (A,)), Predicate("entered")))),
        (
            "hint: predicate open: neither an action nor the initial state provides it, so action enter can never"
            " apply [never-provided]"
        ),
    ),
    "nothing provides a predicate that looks misspelt": (
        problem(domain(MOVE, ENTER, more=(Predicate("open", (A,)), Predicate("opem", (A,)), Predicate("entered")))),
        (
            "warning: predicate open: neither an action nor the initial state provides it, so action enter can never"
            " apply; did you mean 'opem'? [never-provided]"
        ),
    ),
    "no fact of an object": (
        problem(
            domain(
                MOVE,
                Action(
                    "back",
                    (R,),
                    Atom("door", ("lab", "hall")),
                    (Atom("at", ("?r", "hall")),),
                    (Atom("at", ("?r", "_")),),
                ),
            )
        ),
        (
            "hint: action back: it can never apply: no fact matches door(lab, hall), neither initially nor after any"
            " action [never-applies]"
        ),
    ),
    "no objects for all conditions at once": (
        problem(domain(MOVE, replace(MOVE, name="turn", requires=And((MOVE.requires, Atom("door", ("?b", "?a"))))))),
        (
            "hint: action turn: it can never apply: no objects satisfy all of what it requires, neither initially"
            " nor after any action [never-applies]"
        ),
    ),
    "a goal out of reach": (
        problem(domain(MOVE), Atom("door", ("lab", "hall"))),
        "error: goal: nothing can bring about door(lab, hall) [unreachable-goal]",
    ),
    "a goal that contradicts itself": (
        problem(domain(MOVE), Atom("at", ("r", "lab")), Not(Atom("at", ("r", "lab")))),
        "error: goal: it contradicts itself (both at(r, lab) and not at(r, lab)) [contradicting-goal]",
    ),
    "several values after an action": (
        problem(domain(MOVE, Action("appear", (R, A), TRUE, (Atom("at", ("?r", "?a")),)))),
        (
            "warning: action move: it modifies at(?r, _), but that such an item has one value at a time cannot be"
            " proved; provided without ending the old value by appear [several-values]"
        ),
    ),
    "several values initially": (
        problem(domain(MOVE), initial=(Atom("at", ("r", "lab")),)),
        (
            "warning: initial: at(r, hall) and at(r, lab) are two values of one item: "
            "action move takes at(r, _) for one; leave one out [two-initial-values]"
        ),
    ),
}


@pytest.mark.parametrize(("subject", "expected"), PROBLEMS.values(), ids=PROBLEMS)
def test_problem_findings(subject: Problem, expected: str) -> None:
    assert expected in told(check_problem(subject))


def test_a_missing_predicate_is_reported_once_and_not_again_for_each_action() -> None:
    rules = [finding.rule for finding in check_problem(PROBLEMS["nothing provides a predicate"][0])]
    assert rules == ["never-provided", "never-required", "useless-action"]


def test_alternatives_of_a_goal_are_named() -> None:
    from planner.model import Or

    subject = replace(
        problem(domain(MOVE)), goal=Goal(Or((Atom("door", ("lab", "lab")), Atom("door", ("lab", "hall")))))
    )
    assert "error: goal: nothing can bring about door(lab, lab) or door(lab, hall) [unreachable-goal]" in told(
        check_problem(subject)
    )


def test_the_worst_comes_first() -> None:
    levels = [finding.level for finding in check_problem(problem(domain(MOVE, FLY), Atom("door", ("lab", "hall"))))]
    assert levels == sorted(levels, key=list(Level).index)
    assert len(set(levels)) > 1


def test_a_used_up_budget_ends_lint() -> None:
    findings = check_problem(problem(domain(MOVE)), Limits(time_limit=0.0))
    assert "unexplored" in {each.rule for each in findings}


def test_numbers_are_checked_as_what_uses_parameters_and_has_effects() -> None:
    domain = Domain("courier", types=["robot"])
    domain.action("refuel", {"robot": "robot"}, requires="fuel(robot) <= 90", modifies="fuel(robot) += 10")
    domain.action("move", {"robot": "robot"}, requires="at(robot)", provides="gone(robot)", modifies="at(robot)")
    problem = domain.problem(
        objects={"r2": "robot"}, initial=["at(r2)", "fuel(r2) = 0"], goal=["gone(r2)", "fuel(r2) >= 20"]
    )
    assert told(check_problem(problem)) == []
