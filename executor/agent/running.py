"""The runs of an agent: who fills and approves their steps, what they are for, and how things stand after them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from executor.agent.basing import based
from executor.agent.confirming import Approved
from executor.agent.events import Began
from executor.agent.filling import Filler
from executor.agent.proposals import Proposal
from executor.agent.telling import Tell
from executor.engine import Executor
from executor.errors import RunError
from executor.handle import Outcome, Run
from executor.language.allowance import Allowance, Meter
from executor.language.protocol import LanguageModel
from executor.planning import reserved
from executor.plans.basis import Basis
from executor.record.events import Asked
from executor.record.state import RunState
from planner.model import Atom, Problem
from planner.records import dataclass, field, replace

KEPT: Final = 20


@dataclass(slots=True, eq=False)
class Doing:
    """A run at work, with who approves its steps and fills their parameters; `before` held when it began."""

    run: Run
    approved: Approved
    filler: Filler | None
    before: frozenset[Atom]


@dataclass(slots=True, eq=False)
class Runs:
    """Carries out proposals; `problem` is how things stand, as far as that is known."""

    executor: Executor
    problem: Problem
    model: LanguageModel | None
    allowance: Allowance
    doing: dict[str, Doing] = field(init=False, default_factory=dict)
    over: dict[str, RunState] = field(init=False, default_factory=dict)
    """The latest runs that no journal has, as they ended."""

    def start(self, proposal: Proposal, memory: Mapping[str, Any], alternatives: Iterable[Proposal] = ()) -> Run:
        """Begin to carry out the plan of `proposal`; raises `InputError` where it has none."""
        made = based(proposal)
        others = [each.plan for each in alternatives if each.plan is not None]
        filler = self._filler(proposal.request, memory, Meter(self.allowance, proposal.usage))
        approved = Approved(self.executor.world.model.actions, self.executor.approve, list(made.plan.steps))
        run = self.executor.start(reserved(made, others), memory=memory, fill=filler, approve=approved)
        self.doing[run.id] = Doing(run, approved, filler, frozenset(self.problem.initial))
        return run

    def take_up(self, run: str, **given: Any) -> Run:
        """Begin to take up a run; see `Executor.take_up`."""
        words = self.executor.state_of(run, given.get("entities")).plan.basis.request
        filler = self._filler(words, {}, Meter(self.allowance))
        approved = Approved(self.executor.world.model.actions, self.executor.approve)
        taken = self.executor.take_up(run, fill=filler, approve=approved, **given)
        self.doing[run] = Doing(taken, approved, filler, frozenset(self.problem.initial))
        return taken

    async def followed(self, run: Run, tell: Tell) -> Outcome:
        """Return how `run` ends, and take over what is believed then: that is how things stand now."""
        tell(Began(run.id))
        run.listen(tell)
        try:
            outcome: Outcome = await run
        finally:
            doing = self.doing.pop(run.id, None)
        if self.executor.journal is None and outcome.status.is_over:
            self.over[run.id] = outcome.state
            while len(self.over) > KEPT:
                del self.over[next(iter(self.over))]
        found = self.standing(outcome.state)
        if self.doing and doing is not None:  # the others know of things of which this one does not
            after, now = frozenset(found.initial), frozenset(self.problem.initial)
            facts = (now - (doing.before - after)) | (after - doing.before)
            found = replace(found, initial=tuple(sorted(facts, key=str)))
        self.problem = found
        return outcome

    def standing(self, state: RunState) -> Problem:
        """Return how things stand as a run believes them to be."""
        facts = tuple(sorted(state.beliefs.simulation.facts, key=str))
        return replace(self.problem, objects=state.source.objects, initial=facts)

    def now(self, run: str = "") -> Problem:
        """Return how things stand: as `run` believes, if it is at work."""
        return self.standing(self.doing[run].run.state) if run in self.doing else self.problem

    def at_work(self, run: str) -> Doing:
        """Return a run at work; raises `RunError` for one that is not."""
        if run not in self.doing:
            raise RunError(f"the run {run!r} is not at work here", hint="take it up: resume(run)")
        return self.doing[run]

    def interrupt(self, run: str) -> bool:
        """Interrupt a run if it is at work, and return whether it is."""
        if run in self.doing:
            self.doing[run].run.interrupt()
        return run in self.doing

    def redirect(self, run: str, proposal: Proposal, *, also: bool = False) -> Run:
        """Have a run at work go on to the goal of `proposal`, and return it; raises as `Run.change_goal` does.

        With `also`, that is what it was for before, too: what of that nothing confirms stays so.
        """
        doing, made = self.at_work(run), based(proposal)
        basis = _both(doing.run.state.plan.basis, made.plan.basis) if also else made.plan.basis
        doing.run.change_goal(made.problem, proposal.request or proposal.words, basis=basis)
        doing.approved.shown.extend(made.plan.steps)
        if doing.filler is not None and proposal.request:
            doing.filler.words += f"\n{proposal.request}"
        return doing.run

    def state_of(self, run: str) -> RunState:
        """Return the state of a run; raises `RunError` where nothing is known of it."""
        return self.over[run] if run in self.over else self.executor.state_of(run)

    def questions(self, run: str) -> list[Asked]:
        """Return the open questions of a run; none where nothing is known of it."""
        try:
            return list(self.executor.state_of(run).questions.values())
        except RunError:
            return []

    def _filler(self, words: str, memory: Mapping[str, Any], meter: Meter) -> Filler | None:
        """Return what fills open parameters from `words`, with what `meter` has left to spend."""
        return None if self.model is None else Filler(self.model, words, memory, meter)


def _both(one: Basis, other: Basis) -> Basis:
    """Return why there is a plan for two requests."""
    unverified = {**one.unverified, **other.unverified}
    requests = "\n".join(filter(None, [one.request, other.request]))
    left = tuple(dict.fromkeys([*one.left, *other.left]))
    proposing = "\n".join(filter(None, [one.proposing, other.proposing]))
    return other.model_copy(
        update={"request": requests, "unverified": unverified, "left": left, "proposing": proposing}
    )
