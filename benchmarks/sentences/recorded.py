"""Recorded sentences: what each means, what a model answers that is right, and answers that are wrong."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from planner.documents.yaml_text import parse_yaml
from planner.pddl.text import read_text

FOLDER: Final = Path(__file__).with_name("answers")
Ending = Literal["done", "approved", "reads", "shown", "asked", "lacking", "refused", "nothing", "mended"]
"""What becomes of an answer; see `benchmarks.sentences.verdict.ENDINGS`."""


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Wrong(_Part):
    """A wrong answer: what is wrong with it (`why`), what the model says round by round, and what becomes of it.

    A round is a list of meanings, or all that the model says. The last one is said again as often as it is asked for.
    """

    why: str
    said: list[Any] = Field(min_length=1)
    ends: Ending


class Sentence(_Part):
    """A sentence about a problem (`where`, as domain/problem), and what it `means`: as parts of problem documents.

    It means nothing, or one thing, or several; whoever says it has the last of these in mind. `left` are the parts that
    no fact expresses, for which `steps` is the model's answer. `asks` are unknown objects with their types; those of
    types that are `open` are made.
    """

    where: str = Field(alias="in")
    say: str
    kind: str
    means: list[dict[str, Any]] | dict[str, Any]
    right: list[Any]
    wrong: list[Wrong]
    ends: Ending | None = None
    left: list[str] = []
    steps: dict[str, Any] | None = None
    asks: dict[str, str] = {}
    open: list[str] = []

    @property
    def meanings(self) -> list[dict[str, Any]]:
        """What it means, as a list."""
        return [self.means] if isinstance(self.means, dict) else self.means

    @property
    def right_ends(self) -> Ending:
        """What becomes of the right answer."""
        if self.ends is not None:
            return self.ends
        if not self.meanings:
            return "nothing"
        return "asked" if self.asks else "lacking" if self.left else "done"


@cache
def recorded() -> tuple[Sentence, ...]:
    """Return all recorded sentences, by domain."""
    found: list[Sentence] = []
    for path in sorted(FOLDER.glob("*.yaml")):
        for document in parse_yaml(read_text(path), str(path)):
            found += [Sentence.model_validate(each) for each in document]
    return tuple(found)
