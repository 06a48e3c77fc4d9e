"""Verdicts of services on combined problems, and the cases that they are given."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from functools import cached_property
from typing import Any

from pairs.enumeration import Optimum, asks_for_time, optimum
from pairs.features import combine

from htn.model import HtnProblem
from planner import solve, validate
from planner.errors import InputError, NoPlan, UnsupportedError
from planner.lightweight import replace
from planner.model import Problem
from planner.plan import Plan, Result, Status


class Kind(Enum):
    """What became of a problem in a service."""

    PROVED = "right, with a proof"
    RIGHT = "right, without a proof"
    WORSE = "a plan that is not the best, and is not called so"
    NOTHING = "no answer within the limits"
    REFUSED = "refused, with a way round"
    BLUNT = "refused, without a way round"
    WRONG = "wrong"
    INTERNAL = "internal error"


@dataclass(frozen=True)
class Verdict:
    """What became of one problem in one service, and why."""

    kind: Kind
    reason: str = ""


RIGHT = Verdict(Kind.RIGHT)


@dataclass(frozen=True)
class Case:
    """A problem with the features of these names, and the seconds that a service has for it."""

    names: tuple[str, ...]
    limit: float = 10

    @cached_property
    def problem(self) -> Problem | HtnProblem:
        """The problem."""
        return combine(self.names)

    @cached_property
    def classical(self) -> Problem:
        """The problem without its tasks."""
        return self.problem.classical if isinstance(self.problem, HtnProblem) else self.problem

    @property
    def has_tasks(self) -> bool:
        """Whether the problem has tasks."""
        return isinstance(self.problem, HtnProblem)

    @cached_property
    def is_in_time(self) -> bool:
        """Whether plans have times."""
        return asks_for_time(self.classical)

    @cached_property
    def is_timed(self) -> bool:
        """Whether plans state times: a deadline alone does not ask for them."""
        return asks_for_time(replace(self.classical, deadline=None))

    @property
    def is_uncertain(self) -> bool:
        """Whether steps may come out in several ways."""
        actions = self.classical.domain.actions.values()
        return bool(self.classical.unknown) or any(each.is_uncertain for each in actions)

    @cached_property
    def truth(self) -> Optimum | None:
        """The optimum by the enumeration."""
        return optimum(self.problem)

    @cached_property
    def result(self) -> Result:
        """What `solve` says."""
        return solve(self.problem, time_limit=self.limit)

    @cached_property
    def plan(self) -> Plan:
        """A plan of the problem, not always the best."""
        return solve(self.problem, mode="first", time_limit=self.limit).expect_plan()


Judge = Callable[[Case], Verdict]
SERVICES: dict[str, Judge] = {}


def service(judge: Judge) -> Judge:
    """Enter a function among the services, under its name without `judge_`."""
    SERVICES[judge.__name__.removeprefix("judge_")] = judge
    return judge


def judge(name: str, case: Case) -> Verdict:
    """Return the verdict of one service on one problem; whatever is raised is one, too."""
    try:
        return SERVICES[name](case)
    except UnsupportedError as error:
        return Verdict(Kind.REFUSED if error.hint else Kind.BLUNT, str(error))
    except InputError as error:
        if error.hint and " takes " in error.message:
            return Verdict(Kind.REFUSED, f"{error.message}; {error.hint}")
        return Verdict(Kind.INTERNAL, f"{type(error).__name__}: {error}")
    except NoPlan as error:
        result = error.result
        if result.status is Status.UNSUPPORTED:
            return refuse(result.reason)
        return Verdict(Kind.NOTHING, f"no plan to ask about: {result.describe()}")
    except Exception as error:  # noqa: BLE001 - whatever is raised is the verdict
        place = traceback.extract_tb(error.__traceback__)[-1]
        return Verdict(Kind.INTERNAL, f"{type(error).__name__}: {error} ({place.filename}:{place.lineno})")


def wrong(reason: str) -> Verdict:
    """Return the verdict on an answer that is wrong."""
    return Verdict(Kind.WRONG, reason)


def refuse(reason: str) -> Verdict:
    """Return the verdict on a result that refuses: a way round stands after a semicolon or in brackets."""
    return Verdict(Kind.REFUSED if ";" in reason or "(" in reason else Kind.BLUNT, reason)


def judge_result(case: Case, result: Result, problem: Any = None) -> Verdict:
    """Judge a result of search about the problem of `case`, or about one that means the same."""
    truth, problem = case.truth, problem or case.problem
    best = "no plan" if truth is None else f"the optimum is {float(truth.charge)}"
    if result.status is Status.UNSUPPORTED:
        return refuse(result.reason)
    if result.status is Status.UNSOLVABLE:
        return Verdict(Kind.PROVED) if truth is None else wrong(f"UNSOLVABLE, but {best} by {name_steps(truth)}")
    if result.status is Status.UNKNOWN:
        return Verdict(Kind.NOTHING, f"{result.reason} ({best})")
    assert result.plan is not None
    verdict = validate(problem, result.plan)
    charge, said = Fraction(result.plan.charge), f"{result.status.name} {result.plan.charge}"
    if not verdict.valid or truth is None:
        return wrong(f"{said}, but {best}; the plan checker: {verdict}")
    if result.lower_bound is not None and Fraction(result.lower_bound) > truth.charge:
        return wrong(f"lower bound {result.lower_bound}, but {best} by {name_steps(truth)}")
    if charge < truth.charge:
        return wrong(f"{said}, but {best}: {result.plan}")
    if charge == truth.charge:
        return Verdict(Kind.PROVED if result.status is Status.OPTIMAL else Kind.RIGHT, result.reason)
    if result.status is Status.OPTIMAL:
        return wrong(f"{said}, but {best} by {name_steps(truth)}")
    if result.plan.suppositions:
        return Verdict(Kind.RIGHT, result.reason)
    return Verdict(Kind.WORSE, f"{said}, but {best}; {result.reason}")


def name_steps(truth: Optimum) -> str:
    """Return the steps of an optimal plan as text."""
    return ", ".join(map(str, truth.steps))
