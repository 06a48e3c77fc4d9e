"""One run with a model that says anything, as its seed draws it."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Any, Final

from benchmarks.sentences.meant import problem_of
from benchmarks.sentences.recorded import recorded
from executor.language.allowance import Allowance
from executor.testing import Fault, FaultKind
from planner import Problem

WAYS: Final = ("sentence", "goal", "plan", "change", "interrupted", "candidates", "room", "again")
"""What is asked of the agent: a sentence; a goal, whose steps the model fills; the repair of a plan that the model has
drawn up; another sentence in mid-run; a run that is interrupted and taken up again; candidates for a sentence; a
conversation; the same sentence twice, with plans and readings kept."""
UNLIMITED: Final = 0.8
"""How likely the model may take as much as it likes."""
LYING: Final = 0.2
"""How likely handlers lie, too: they say that it is done, and have done nothing."""


HOSTILE: Final = 0.2
"""How likely handlers return anything besides."""


@dataclass(frozen=True, slots=True)
class Setting:
    """One run: what is asked in which `way`, by whom it is allowed, and what the model may take.

    `confirms` is what a person says to every goal, None where nobody is there; `approves` to every step.
    """

    seed: int
    where: str
    way: str
    sentence: str
    is_cunning: bool
    allowance: Allowance
    confirms: bool | None
    approves: bool | None
    waived: bool
    open_types: tuple[str, ...]
    has_memory: bool
    faults: tuple[Fault, ...]
    is_hostile: bool

    @property
    def known(self) -> list[Any]:
        """The meanings that are recorded for the sentence, right and wrong."""
        (found,) = [each for each in recorded() if each.say == self.sentence]
        rounds = [found.right, *[said for wrong in found.wrong for said in wrong.said]]
        return [meaning for each in rounds if isinstance(each, list) for meaning in each]

    @property
    def problem(self) -> Problem:
        """The problem, as things stand."""
        return problem_of(self.where)

    def __str__(self) -> str:
        model = "cunning" if self.is_cunning else "random"
        return f"seed {self.seed}: {self.where}, {self.way}, {model}, {self.allowance}, {self.sentence!r}"


def setting(seed: int, campaign: int = 0) -> Setting:
    """Return the run that `seed` draws; seeds go through all ways in turn."""
    dice = Random(f"adversary {campaign} {seed}")  # noqa: S311 - an experiment
    drawn = dice.choice(recorded())
    types = list(problem_of(drawn.where).domain.types)
    return Setting(
        seed,
        drawn.where,
        WAYS[seed % len(WAYS)],
        drawn.say,
        is_cunning=dice.random() < 0.8,
        allowance=_allowance(dice),
        confirms=dice.choice([True, True, True, False, None]),
        approves=dice.choice([True, True, True, False, None]),
        waived=dice.random() < 0.3,
        open_types=tuple(dice.sample(types, dice.randint(0, len(types)))),
        has_memory=dice.random() < 0.5,
        faults=(Fault(FaultKind.LIES, rate=0.3, times=None),) if dice.random() < LYING else (),
        is_hostile=dice.random() < HOSTILE,
    )


def _allowance(dice: Random) -> Allowance:
    if dice.random() < UNLIMITED:
        return Allowance()
    return Allowance(
        dice.choice([None, None, 0, 1, 3, 10]),
        dice.choice([None, None, 0, 300, 5000]),
        dice.choice([None, 0.0, 0.02, 0.1]),
    )
