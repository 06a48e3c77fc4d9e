"""The record of a room in the journal, and the short answers (yes, no, stop, a number) that need no model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, Literal

from pydantic import BaseModel, ConfigDict

from executor.agent.goal_reading.goal_problem import Meaning
from executor.agent.improvise import Proposed, Serving
from executor.agent.proposals import Proposal
from executor.agent.run_goals import NO_TERMS, RunTerms, basis_of
from executor.journal import AnyJournal
from executor.language_model.protocol import Origin, Part
from executor.plans.action_plan import ActionPlan, statement_of
from executor.tools.json_data import dump_json, load_json

MOST_TURNS: Final = 20
"""Most turns of a conversation in the record; the latest are kept."""
LONGEST: Final = 2_000
"""Most characters of a recorded turn."""


class _Kept(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Turn(_Kept):
    """A turn of the conversation; the agent's turns follow from goals and plans, never from results of tools."""

    who: Literal["user", "agent"]
    text: str


class OpenSentence(_Kept):
    """A sentence with an open question: its readings and the standing of its proposal.

    `serving` are steps that a model proposed for parts that no fact expresses, and `proposing` is the model's reason.
    """

    sentence: str
    meanings: tuple[Meaning, ...] = ()
    standing: str = ""
    question: str = ""
    serving: tuple[Serving, ...] = ()
    proposing: str = ""
    terms: RunTerms = NO_TERMS

    @classmethod
    def of(cls, proposal: Proposal, terms: RunTerms = NO_TERMS) -> OpenSentence:
        """Return the record of `proposal`, which is to be carried out on `terms`."""
        meanings = tuple([each.meaning for each in proposal.readings if each.meaning is not None])
        standing, question = proposal.standing.name, proposal.question
        made = cls(sentence=proposal.request, meanings=meanings, standing=standing, question=question, terms=terms)
        found = proposal.improvised
        return made if found is None else made.model_copy(update={"serving": found.serving, "proposing": found.thought})

    @property
    def served(self) -> Proposed | None:
        """The model's proposed steps as its answer; None where there are none."""
        return Proposed(parts=list(self.serving), thought=self.proposing) if self.serving else None


class Errand(_Kept):
    """An unfinished request: its goal in `words`, and its `run` if it was begun.

    `wanted` is a plan without steps that states the goal, if the errand may begin without a further question: because
    it needed none, or because it was confirmed before the process ended.
    """

    number: int
    request: str
    words: str
    priority: int = 0
    run: str = ""
    wanted: ActionPlan | None = None
    terms: RunTerms = NO_TERMS

    @classmethod
    def of(cls, number: int, proposal: Proposal, priority: int, run: str, terms: RunTerms) -> Errand:
        """Make the errand of `proposal`; with unverified steps, a person has to confirm it again after a restart."""
        problem, wanted = proposal.problem, None
        if problem is not None and proposal.improvised is None:
            wanted = ActionPlan(**statement_of(problem), basis=basis_of(proposal))
        request, words = proposal.request, proposal.words
        return cls(number=number, request=request, words=words, priority=priority, run=run, wanted=wanted, terms=terms)


class RoomRecord(_Kept):
    """A room: its turns, the sentence with an open question, and the unfinished requests."""

    turns: tuple[Turn, ...] = ()
    open: OpenSentence | None = None
    errands: tuple[Errand, ...] = ()
    count: int = 0
    """The number of errands so far."""

    def with_turn(self, who: Literal["user", "agent"], text: str) -> RoomRecord:
        """Add a turn."""
        turns = (*self.turns, Turn(who=who, text=text[:LONGEST]))[-MOST_TURNS:]
        return self.model_copy(update={"turns": turns})

    def with_errand(self, errand: Errand) -> RoomRecord:
        """Add or replace `errand`."""
        others = [each for each in self.errands if each.number != errand.number]
        errands = tuple(sorted([*others, errand], key=lambda each: each.number))
        return self.model_copy(update={"errands": errands, "count": max(self.count, errand.number)})

    def without_errand(self, number: int) -> RoomRecord:
        """Remove an errand."""
        return self.model_copy(update={"errands": tuple([each for each in self.errands if each.number != number])})

    def as_text(self) -> str:
        """Write the room as JSON for `load_room`; texts may have lone surrogates."""
        return dump_json(self.model_dump(mode="json"))


def load_room(journal: AnyJournal | None, name: str) -> RoomRecord:
    """Load the room with this `name` from `journal`, or return a new one; raises `JournalError`."""
    found = [each.data for each in journal.rooms() if each.name == name] if journal is not None else []
    return RoomRecord.model_validate(load_json(found[-1])) if found else RoomRecord()


YES: Final = frozenset({"yes", "y", "ok", "okay", "sure", "do it", "go ahead", "right", "yes please", "that is right"})
NO: Final = frozenset({"no", "n", "nope", "do not", "don't", "cancel", "forget it", "never mind", "no thanks"})
NEW: Final = frozenset({"new", "a new one", "create it", "make it", "it is new", "they are new", "yes, new"})
STOP: Final = frozenset({"stop", "stop it", "halt", "wait", "pause", "hold on"})
GO_ON: Final = frozenset({"go on", "continue", "resume", "carry on", "proceed"})
ORDINALS: Final = ("first", "second", "third", "fourth", "fifth")
HOW: Final = """\
Something is being done already. Say in 'relation' whether the user asks for something besides it (also), in its place
(instead), or for something that is for itself (alone). In each case, give the goal of what is asked for now."""


def context_parts(record: RoomRecord, doing: str | None) -> Iterator[Part]:
    """Yield the turns before the last one, and the goal of the active task, as parts of a request."""
    for turn in record.turns[:-1]:
        is_user = turn.who == "user"
        title = "The user said before" if is_user else "You said"
        yield Part(title, turn.text, Origin.USER if is_user else Origin.DECLARED)
    if doing is not None:
        yield Part("What is being done", f"{doing}\n{HOW}")


def read_decision(text: str) -> bool | None:
    """Read `text` as yes or no; None where it is neither."""
    plain = _normalise(text)
    return True if plain in YES else False if plain in NO else None


def is_stop(text: str) -> bool:
    """Return whether `text` asks to stop for now."""
    return _normalise(text) in STOP


def is_go_on(text: str) -> bool:
    """Return whether `text` asks to continue stopped runs."""
    return _normalise(text) in GO_ON


def is_new(text: str) -> bool:
    """Return whether `text` says that the unknown names are new objects."""
    return _normalise(text) in NEW


def read_choice(text: str, words: Sequence[str]) -> int | None:
    """Read a choice among readings, by number or by words; None where `text` is no choice."""
    plain = _normalise(text).removeprefix("number ").removeprefix("the ").removesuffix(" one")
    if plain in ORDINALS[: len(words)]:
        return ORDINALS.index(plain)
    if plain.isdecimal() and 1 <= int(plain) <= len(words):
        return int(plain) - 1
    found = [place for place, each in enumerate(words) if _normalise(each) == plain]
    return found[0] if len(found) == 1 else None


def _normalise(text: str) -> str:
    return " ".join(text.casefold().split()).strip(" .!?")
