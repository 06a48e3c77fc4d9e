"""What a door is: a way to begin runs, as a host uses it, and what it tells."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from itertools import permutations
from typing import TYPE_CHECKING, Any, ClassVar

from executor import Executor, RunOutcome
from executor.journal import open_journal

if TYPE_CHECKING:
    from doors.scenes import Flavour, Site

DOORS: dict[str, type[Door]] = {}
"""Every door by its name."""
APART: dict[str, type[Door]] = {}
"""Doors that need processes or a server, by name: their stories take real time, and are no cells of the matrix."""


@dataclass(frozen=True, slots=True)
class Question:
    """An open question of a run, as a door tells it; `text` has what is known, too."""

    run: str
    name: str
    text: str
    choices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Told:
    """What a door told of the state of a request; an `error` is what it raised."""

    status: str
    reason: str = ""
    questions: tuple[Question, ...] = ()
    error: BaseException | None = None

    @classmethod
    def of(cls, outcome: RunOutcome) -> Told:
        """Return what a run told."""
        asked = [
            Question(outcome.run, each.question, "; ".join((each.text, *each.known)), tuple(each.choices))
            for each in outcome.questions
        ]
        return cls(outcome.status.name, outcome.reason, tuple(asked))


class Door:
    """A way to begin runs: `ask` for the goal, `answer` what it asks, `resume` in a new process, `call_off`."""

    flavour: ClassVar[Flavour] = "plain"
    has_journal: ClassVar[bool] = True
    has_occasion: ClassVar[bool] = False
    """Whether it asks for an occasion, such as a due time: what was done for none is not done for it."""
    is_virtual: ClassVar[bool] = False
    """Whether it waits for an hour: its stories happen in virtual time only."""
    has_goal: ClassVar[bool] = True
    """Whether it tells the goal; else only what is to be done."""
    name: ClassVar[str]

    def __init__(self, site: Site) -> None:
        self.site = site
        site.callers += 1
        self.goal, self.problem = site.goal, site.problem

    async def ask(self) -> Told:
        """Ask for the goal, and return what the door tells."""
        raise NotImplementedError

    async def answer(self, question: Question, answer: Any) -> Told:
        """Answer a question, and return what the door tells then."""
        raise NotImplementedError

    @property
    def place(self) -> Any:
        """Where the journal is."""
        assert self.site.journal is not None, "a door without a journal is asked itself"
        return self.site.journal.place

    async def post(self, question: Question, answer: Any) -> bool:
        """Answer a question by another executor on the same journal; return whether that one lists it."""
        from doors.scenes import make_beside

        with open_journal(self.place) as journal:
            executor = Executor(make_beside(self.site).world, journal)
            for run, info in executor.runs().items():
                for each in () if info.status.is_over else executor.questions(run):
                    if question.run in ("", run) and each.text in question.text:
                        executor.answer(run, each.question, answer)
                        return True
        return False

    async def resume(self) -> Told | None:
        """Take up what was left unfinished; None where there is nothing."""
        raise NotImplementedError

    def call_off(self, task: asyncio.Task[Any]) -> None:
        """Call off the request that is being carried out by `task`."""
        task.cancel()


def find_doors(name: str) -> list[type[Door]]:
    """Return the doors that a name tells: one, or two as in "sequential+agent"."""
    return [(DOORS | APART)[each] for each in name.split("+")]


def list_pairs() -> list[str]:
    """Return every ordered pair of plain doors that can be in one story: both have a journal, or neither has one."""
    plain = {name: made for name, made in DOORS.items() if made.flavour == "plain"}
    return [
        f"{first}+{second}"
        for first, second in permutations(plain, 2)
        if plain[first].has_journal == plain[second].has_journal
    ]


def door(name: str, made: type[Door], **fields: Any) -> None:
    """Register a door."""
    DOORS[name] = type(made.__name__, (made,), {"name": name, **fields})
