"""The services that take declared problems: each judges its own answer about one problem by the enumeration.

A new service is one entry of `SERVICES`.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from functools import cached_property
from typing import Any

from pairs.enumeration import Optimum, optimum
from pairs.features import combine

from htn.model import HtnProblem
from planner import solve as planner_solve
from planner import validate as planner_validate
from planner.errors import UnsupportedError
from planner.model import Problem
from planner.plan import Result, Status


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
    kind: Kind
    reason: str = ""


@dataclass(frozen=True)
class Case:
    """A problem with the features of these names, and the seconds that a service has for it."""

    names: tuple[str, ...]
    limit: float = 10

    @cached_property
    def problem(self) -> Problem | HtnProblem:
        return combine(self.names)

    @cached_property
    def classical(self) -> Problem:
        return self.problem.classical if isinstance(self.problem, HtnProblem) else self.problem

    @cached_property
    def truth(self) -> Optimum | None:
        return optimum(self.problem)

    @cached_property
    def result(self) -> Result:
        return planner_solve(self.problem, time_limit=self.limit)


Judge = Callable[[Case], Verdict]
SERVICES: dict[str, Judge] = {}


def service(judge: Judge) -> Judge:
    """Enter a function among the services, under its name."""
    SERVICES[judge.__name__] = judge
    return judge


def judge(name: str, case: Case) -> Verdict:
    """Return the verdict of one service on one problem; whatever is raised is one, too."""
    try:
        return SERVICES[name](case)
    except UnsupportedError as error:
        return Verdict(Kind.REFUSED if error.hint else Kind.BLUNT, str(error))
    except Exception as error:  # noqa: BLE001 - whatever is raised is the verdict
        place = traceback.extract_tb(error.__traceback__)[-1]
        return Verdict(Kind.INTERNAL, f"{type(error).__name__}: {error} ({place.filename}:{place.lineno})")


def wrong(reason: str) -> Verdict:
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
    verdict = planner_validate(problem, result.plan)
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
    return ", ".join(map(str, truth.steps))


@service
def solve(case: Case) -> Verdict:
    return judge_result(case, case.result)
