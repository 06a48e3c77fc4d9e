"""Explanations of problems with foils, in the words of the problem that was asked about."""

from __future__ import annotations

import re

from htn.compilations.htn_foils import MARK, TOP
from htn.explain.report import Attempt, DeadEnd, Failure, Lack, WhyNot
from htn.model import HtnDomain
from planner.compilations.foils import ALLOWED, BEGUN, DONE
from planner.lightweight import Final, replace

_FACTS: Final = {
    ALLOWED: ("to be allowed", "which the question takes away"),
    BEGUN: ("to be done before", "which the question asks for"),
    DONE: ("to be done", "which the question asks for"),
}
"""For facts about steps, what needs them, and why they do not hold."""


def name_foils(found: WhyNot, declared: HtnDomain, compiled: HtnDomain) -> WhyNot | None:
    """Return `found`, about the `compiled` domain, in the names that are `declared`; None where nothing is left to say.

    Left out are tasks that fail only because others do, or because they do not lead to what is asked for.
    """
    return _FoilNames(declared, compiled).name(found)


class _FoilNames:
    def __init__(self, declared: HtnDomain, compiled: HtnDomain) -> None:
        marks = {name.partition(MARK)[2] for name in compiled.tasks if name.startswith(f"{TOP}{MARK}")}
        texts = sorted(marks, key=len, reverse=True)
        self._marks = re.compile("|".join([rf"{MARK}{re.escape(each)}(?: below \d+| \d+)?" for each in texts]) or r"\Z")
        self._avoided = [each for name, each in declared.methods.items() if name not in compiled.methods]

    def name(self, found: WhyNot) -> WhyNot | None:
        """Return the explanation in declared names; None where it is empty."""
        failures = [self._failure(each) for each in found.failures]
        named = replace(
            found,
            failures=tuple([each for each in failures if each.attempts]),
            goal=tuple(map(self._lack, found.goal)),
            dead_ends=tuple(map(self._dead_end, found.dead_ends)),
        )
        return named if named.failures or named.goal or named.dead_ends else None

    def _text(self, text: str) -> str:
        return self._marks.sub("", text)

    def _failure(self, failure: Failure) -> Failure:
        task = self._text(failure.task)
        given = [each for each in map(self._attempt, failure.attempts) if each is not None]
        name = task.partition("(")[0]
        left_out = [
            Attempt(each.name, remark="the question is for a plan without it")
            for each in self._avoided
            if each.task.predicate == name
        ]
        above = tuple([self._text(each) for each in failure.above if not each.startswith(TOP)])
        return Failure(task, tuple(dict.fromkeys([*given, *left_out])), above)

    def _attempt(self, attempt: Attempt) -> Attempt | None:
        """Return an attempt in declared names; None where it fails only because others do."""
        marked = self._marks.search(attempt.label) is not None
        if not attempt.lacks and (marked or attempt.undoable):
            return None
        lacks = tuple(map(self._lack, attempt.lacks))
        return replace(attempt, label=self._text(attempt.label), lacks=lacks)

    def _lack(self, lack: Lack) -> Lack:
        word, _, steps = lack.condition.partition(" ")
        if word in _FACTS and steps:
            need, why = _FACTS[word]
            return Lack(f"{steps} {need}", why)
        return Lack(self._text(lack.condition), self._text(lack.why))

    def _dead_end(self, end: DeadEnd) -> DeadEnd:
        return replace(end, failure=None if end.failure is None else self._failure(end.failure))
