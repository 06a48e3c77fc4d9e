"""`--say`: read a sentence as a goal, and have it confirmed on the terminal."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from executor import Agent, Allowance, Proposal, Readings, Standing, World, model_of
from executor.agent.fill_parameters import Filler
from executor.language_model.event_loop import ThreadedModel
from executor.language_model.protocol import Meter, Origin, Part, Usage
from planner.cli.interrupt import interruptible
from planner.cli.output import is_terminal, tell
from planner.errors import InputError
from planner.lightweight import dataclass, replace
from planner.model import Problem
from planner.reuse.plan_cache import PlanCache
from planner.reuse.templates import read_templates

if TYPE_CHECKING:
    from executor.cli.execute import RunOptions

_YES: Final = frozenset({"y", "yes"})


def is_dialogue() -> bool:
    """Return whether a person can be asked: stdin and stderr are terminals."""
    return is_terminal(sys.stdin) and is_terminal(sys.stderr)


def ask_person(question: str) -> str:
    """Ask a person on the terminal; return the answer, "" where there is none."""
    tell(question)
    sys.stderr.write("> ")
    sys.stderr.flush()
    return sys.stdin.readline().strip()


def ask_yes_or_no(question: str) -> bool:
    """Ask a person for yes or no, and return whether the answer is yes."""
    return ask_person(f"{question} [yes/no]").casefold() in _YES


def choose_number(question: str, choices: int) -> int | None:
    """Ask a person for one of so many numbered choices; return its number from 0, or None."""
    answer = ask_person(f"{question}\nGive its number.")
    return int(answer) - 1 if answer.isascii() and answer.isdigit() and 1 <= int(answer) <= choices else None


OPTIONS: Final = {
    "model": "--language-model",
    "endpoint": "--endpoint",
    "tokens": "--tokens",
    "open_types": "--new",
    "cache": "--cache",
    "templates": "--templates",
}
"""The command-line options of the fields of `SentenceOptions`."""
ROUNDS: Final = 3
"""Most questions about the meaning of a sentence."""
HOW: Final = """\
name one by --language-model, or in the environment:
  hosted             FORETHOUGHT_MODEL=openai:gpt-5, and the key that its provider asks for: OPENAI_API_KEY=…
  on this machine    FORETHOUGHT_MODEL=llama3.2 FORETHOUGHT_MODEL_URL=http://localhost:11434/v1
                     (Ollama; vLLM, llama.cpp and others that speak OpenAI's protocol likewise)
or in ~/.config/forethought/settings.yaml, as docs/how-to/agents.md says; both need pip install 'forethought[llm]'
"""
TERMINAL: Final = "say it on a terminal to be asked, or with --yes"
DOUBTFUL: Final = "say it on a terminal to be asked, or in other words: --yes does not confirm what is not clear"


@dataclass(frozen=True, slots=True)
class SentenceOptions:
    """The sentence of the command, the settings of a language model that reads it, and the model's limits."""

    sentence: str
    model: str | None = None
    endpoint: str | None = None
    tokens: int | None = None
    open_types: tuple[str, ...] = ()
    cache: Path | None = None
    templates: Path | None = None

    @property
    def words(self) -> list[str]:
        """The options that repeat the sentence in another command."""
        given = {"--say": self.sentence, "--language-model": self.model, "--endpoint": self.endpoint}
        given["--tokens"] = None if self.tokens is None else str(self.tokens)
        return [word for option, each in given.items() if each is not None for word in (option, each)]

    def make_model(self) -> ThreadedModel:
        """Make the language model; raises `InputError` where none is configured."""
        given = {name: each for name, each in (("model", self.model), ("url", self.endpoint)) if each is not None}
        model = model_of(given or None)
        if model is None:
            raise InputError("a sentence needs a language model, and none is configured", hint=HOW.strip())
        return ThreadedModel(model)

    def make_filler(self, model: ThreadedModel, spent: Usage) -> Filler:
        """Make the filler of open parameters, with the tokens that are left after those `spent`."""
        return Filler(model, self.sentence, {}, Meter(Allowance(tokens=self.tokens), spent))


def read_options(sentence: str | None, **options: Any) -> SentenceOptions | None:
    """Read the options of a sentence, if there is one; raises `InputError` for options without a sentence."""
    given = {name: each for name, each in options.items() if each is not None}
    if sentence is not None:
        return SentenceOptions(sentence, **given)
    for name in given:
        raise InputError(f"{OPTIONS[name]} goes with --say", hint="such as --say 'sum up the survey'")
    return None


class NotCarriedOut(Exception):
    """A sentence leads to no run, for the reason that `proposal` gives."""

    def __init__(self, proposal: Proposal) -> None:
        super().__init__(proposal.standing.value)
        self.proposal = proposal


@dataclass(frozen=True, slots=True)
class SentenceContext:
    """What a sentence is read with: the world, the present state, the model, and the seconds for planning."""

    world: World
    problem: Problem
    model: ThreadedModel
    seconds: float | None


def propose_sentence(wanted: RunOptions, said: SentenceOptions, where: SentenceContext) -> Proposal:
    """Read, plan and confirm the sentence; raises `NotCarriedOut` where that leads to no plan."""
    with interruptible(where.seconds):
        templates = () if said.templates is None else read_templates(said.templates, where.problem.domain)
    with contextlib.ExitStack() as opened:
        cache = None if said.cache is None else opened.enter_context(contextlib.closing(PlanCache(said.cache)))
        readings = None if said.cache is None else opened.enter_context(contextlib.closing(Readings(said.cache)))
        agent = Agent(
            where.world,
            where.problem,
            model=where.model,
            open_types=said.open_types,
            allowance=Allowance(tokens=said.tokens),
            time_limit=where.seconds,
            cache=cache,
            templates=templates,
            readings=readings,
        )
        return _propose(wanted, said, agent)


def _propose(wanted: RunOptions, said: SentenceOptions, agent: Agent) -> Proposal:
    proposal = asyncio.run(_clarify(agent, said.sentence))
    if proposal.plan is None:
        raise NotCarriedOut(proposal)
    if proposal.standing is not Standing.PLANNED:
        _confirm(wanted, proposal, agent)
    elif not wanted.quiet:
        tell(_describe_proposal(proposal))
    return proposal


async def _clarify(agent: Agent, sentence: str) -> Proposal:
    """Plan for `sentence`; on a terminal, ask about its meaning where that is unclear."""
    proposal = await agent.plan(sentence)
    context: list[Part] = []
    for _ in range(ROUNDS if is_dialogue() else 0):
        if proposal.standing is Standing.AMBIGUOUS:
            number = choose_number(proposal.question, len(proposal.readings))
            return proposal if number is None else await agent.choose(proposal, number)
        if proposal.standing is not Standing.UNKNOWN or not (answer := ask_person(proposal.question)):
            return proposal
        context.append(Part(f"The user was asked: {proposal.question} The answer", answer, Origin.USER))
        proposal = await agent.plan(sentence, context=context)
    return proposal


def _confirm(wanted: RunOptions, proposal: Proposal, agent: Agent) -> None:
    """Raise `NotCarriedOut` unless the goal is confirmed: on a terminal, or by --yes where nothing is doubtful."""
    is_clear = proposal.standing is Standing.UNCONFIRMED and not proposal.doubts
    if wanted.approves and is_clear:
        if not wanted.quiet:
            tell(_describe_proposal(proposal))
    elif not is_dialogue():
        raise NotCarriedOut(
            replace(proposal, reason="; ".join(filter(None, [proposal.reason, TERMINAL if is_clear else DOUBTFUL])))
        )
    else:
        meant = ask_yes_or_no(
            "\n".join(filter(None, [_describe_proposal(proposal), proposal.reason, "Is this what you want?"]))
        )
        agent.remember(proposal, meant=meant)
        if not meant:
            raise NotCarriedOut(replace(proposal, standing=Standing.DECLINED))


def _describe_proposal(proposal: Proposal) -> str:
    """Describe the goal, the plan and the doubts of `proposal`."""
    doubts = "".join(f"\nDoubtful: {each}" for each in proposal.doubts)
    if proposal.improvised is not None:
        parts = proposal.improvised.unverified.items()
        doubts += "".join(f"\nNothing can confirm {part!r}: {', '.join(steps)}" for part, steps in parts)
    plan = f"\nPlan, cost {proposal.plan.cost}:\n{proposal.plan}" if proposal.plan is not None else ""
    return f"{proposal.words}{plan}{doubts}"
