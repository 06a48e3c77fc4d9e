"""Rules for plans: steps that are never taken, taken a few times at most, or only if somebody approves."""

from __future__ import annotations

import re
from enum import Enum
from typing import Final

from planner.errors import InputError
from planner.model import Problem
from planner.plan import Plan
from planner.records import dataclass
from planner.selection.steps import Steps, steps_meant

_NOTATION: Final = re.compile(r"\s*(never|at most (\d+)(?: times)?|only if approved:?)\s+(\S.*)", re.IGNORECASE)
_HINT: Final = "write 'never WHAT', 'at most 2 times WHAT' or 'only if approved WHAT', with an action or @TAG"


class RuleKind(Enum):
    """What a rule says of the steps that it is about."""

    AT_MOST = "they are taken so many times at most"
    ONLY_IF_APPROVED = "somebody has to approve them"


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule about `steps`; `times` is for `AT_MOST`: 0 is never."""

    kind: RuleKind
    steps: Steps
    times: int = 0

    def __str__(self) -> str:
        if self.kind is RuleKind.ONLY_IF_APPROVED:
            return f"only if approved {self.steps}"
        return f"at most {self.times} times {self.steps}" if self.times else f"never {self.steps}"

    def broken_by(self, plan: Plan) -> str:
        """Return how `plan` breaks this rule, in words; "" if it does not. What wants approval breaks none."""
        found = self.steps.among(plan)
        if self.kind is RuleKind.ONLY_IF_APPROVED or len(found) <= self.times:
            return ""
        steps = ", ".join(f"{number} {plan.steps[number - 1]}" for number in found)
        return f"{self}: step{'s' if len(found) > 1 else ''} {steps}"


def rule(what: str | Rule, problem: Problem) -> Rule:
    """Return the rule that `what` writes; raises `InputError` where it writes none for `problem`."""
    if isinstance(what, Rule):
        return what
    match = _NOTATION.fullmatch(what) if isinstance(what, str) else None
    if match is None:
        raise InputError(f"{what!r} is no rule", hint=_HINT)
    steps = steps_meant(match[3], problem)
    if match[1].lower().startswith("only"):
        return Rule(RuleKind.ONLY_IF_APPROVED, steps)
    return Rule(RuleKind.AT_MOST, steps, int(match[2] or 0))
