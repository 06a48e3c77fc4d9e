"""The runs of an agent: approval and filling of their steps, and the state of the world after them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from pydantic import BaseModel, ConfigDict

from executor.agent.agent_events import Began, Tell
from executor.agent.confirmation import ApproveShown
from executor.agent.fill_parameters import Filler, usage_of
from executor.agent.plan_search import TEMPLATE
from executor.agent.proposals import Proposal, Standing
from executor.errors import NoRunError, RunError
from executor.events.events import Asked
from executor.events.fluent_values import FluentValue, pattern_of
from executor.events.run_state import RunState
from executor.executor import Executor
from executor.language_model.checked_answers import ModelClient
from executor.language_model.protocol import Allowance, LanguageModel, Meter
from executor.loop.look_first import find_relevant_predicates
from executor.observe.beliefs import CAREFUL
from executor.observe.believed_problem import make_believed_problem
from executor.observe.condition_facts import find_predicates
from executor.observe.observe import Lookout, Survey
from executor.plans.action_plan import ActionPlan, Basis, statement_of
from executor.plans.prepare import PreparedPlan, add_alternatives
from executor.run import Run, RunOutcome
from executor.tools.context import LookContext
from executor.tools.kept_values import Keeper
from planner.errors import InputError
from planner.language.declare.local_closed_world import listings_of
from planner.lightweight import dataclass, field, replace
from planner.model import Atom, DataParameter, DomainModel, Object, Problem
from planner.model.formulas import conjunction
from planner.model.unknown_facts import restrict_unknown_facts

PERSON: Final = "somebody"
"""The value of `Basis.confirmed` for a goal that a person has confirmed."""
STATED: Final = "stated as a goal"
READS: Final = "waived, or its plan only reads"
CONFIRMS: Final = frozenset({Standing.UNCONFIRMED, Standing.UNVERIFIED, Standing.UNMODELLED})
"""Standings of proposals that are carried out only if a person confirms them."""


class RunTerms(BaseModel):
    """Terms of a request: the name of its run, whether it joins others, its occasion, and what is done once more.

    See `Executor.start`.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    run: str | None = None
    join: bool = True
    occasion: str = ""
    again: tuple[str, ...] = ()


NO_TERMS: Final = RunTerms()


def plan_to_run(proposal: Proposal) -> PreparedPlan:
    """Convert the plan of `proposal` to data with its values; raises `InputError` if it has none."""
    if proposal.plan is None or proposal.problem is None:
        raise InputError(f"there is no plan to carry out: {proposal.standing.value}", hint=proposal.reason or None)
    made = ActionPlan.of(proposal.plan, basis=basis_of(proposal))
    improvised = proposal.improvised.values if proposal.improvised is not None else {}
    values = {**proposal.values, **improvised}
    steps = [
        each.model_copy(update={"parameters": dict(values[place])}) if place in values else each
        for place, each in enumerate(made.steps)
    ]
    return PreparedPlan(made.model_copy(update={"steps": tuple(steps)}), proposal.problem)


def basis_of(proposal: Proposal) -> Basis:
    """Return the origin of the plan of `proposal`."""
    found = proposal.improvised
    unconfirmed = READS if proposal.request else STATED
    return Basis(
        request=proposal.request,
        words=proposal.words,
        thought=proposal.thought,
        confirmed=PERSON if proposal.standing in CONFIRMS else unconfirmed,
        unverified={} if found is None else found.unverified,
        proposing="" if found is None else found.thought,
        left=() if found is None else found.left,
        calls=proposal.usage.calls,
        tokens=proposal.usage.tokens,
        cost=proposal.usage.money,
        saved={name: amount for name, amount in proposal.saved.to_dict().items() if amount},
        drawn=_describe_origin(proposal),
    )


def _describe_origin(proposal: Proposal) -> str:
    """Say where the plan comes from, if not from a search."""
    if proposal.repaired is not None:
        return f"somebody else drew it up; {proposal.repaired.status.value}"
    if proposal.result is not None and proposal.result.statistics.search == TEMPLATE:
        return proposal.result.reason
    return "it was found before, for such a problem" if proposal.saved.seconds else ""


MOST_ENDED: Final = 20


@dataclass(slots=True, eq=False)
class ActiveRun:
    """An active run, with its approval and filling of parameters."""

    run: Run
    approved: ApproveShown
    filler: Filler | None
    was_over: bool = False
    """Whether the run was over before it was asked for: its beliefs are of that time."""


@dataclass(slots=True, eq=False)
class Runs:
    """Carries out proposals; `problem` is the present state as far as known."""

    executor: Executor
    problem: Problem
    model: LanguageModel | None
    allowance: Allowance
    memory: Mapping[str, Any] = field(default_factory=dict)
    """The default working memory of each run at its start."""
    results: dict[Atom, Any] = field(init=False, default_factory=dict)
    """Results of steps that provided facts which still hold, as sources of data parameters."""
    active: dict[str, ActiveRun] = field(init=False, default_factory=dict)
    unseen: frozenset[Atom] = field(init=False, default=frozenset())
    """Facts of the present state that careful steps may rest on and that nobody has seen."""
    named: frozenset[str] = field(init=False, default=frozenset())
    """Objects that only handlers have named, and nobody has observed."""
    ended: dict[str, RunState] = field(init=False, default_factory=dict)
    """The last states of the latest runs that are in no journal."""
    _done: dict[Atom, tuple[str, str]] = field(init=False, default_factory=dict)
    """The facts that irreversible steps have brought and nobody has seen, with occasion and step."""

    def start(
        self,
        proposal: Proposal,
        memory: Mapping[str, Any],
        alternatives: Iterable[Proposal] = (),
        *,
        terms: RunTerms = NO_TERMS,
        is_shown: bool = True,
        reported: Mapping[Atom, bool] | None = None,
        is_unattended: bool = False,
        deps: Any = None,
    ) -> Run:
        """Start a run of the plan of `proposal`; raises `InputError` if it has none.

        Unless the plan `is_shown` to somebody, none of its steps counts as approved. The values of `reported` facts
        count as reported, as do facts that earlier runs have only reported or assumed. No person waits for a run that
        `is_unattended`: what was refused before stays refused.
        """
        held = frozenset(self.current_problem(terms=terms).initial)
        unseen = {fact: True for fact in self.unseen if fact in held}
        made, memory = self._with_results(plan_to_run(proposal)), {**self.memory, **memory}
        if is_unattended or self.named:
            named = tuple(sorted(self.named.intersection([each.name for each in made.problem.objects])))
            basis = made.plan.basis.model_copy(update={"is_unattended": is_unattended, "named": named})
            made = replace(made, plan=made.plan.model_copy(update={"basis": basis}))
        others = [each.plan for each in alternatives if each.plan is not None]
        meter = Meter(self.allowance, proposal.usage)
        filler, client = self._filler(proposal.request, memory, meter), self._client(meter)
        shown = list(made.plan.steps) if is_shown else []
        approved = ApproveShown(self.executor.world.model.actions, self.executor.approve, shown)
        is_over = terms.run is not None and self.is_known(terms.run) and self.state_of(terms.run).status.is_over
        begun = self.executor.start(
            add_alternatives(made, others),
            memory=memory,
            fill=filler,
            approve=approved,
            client=client,
            reported={**unseen, **(reported or {})},
            deps=deps,
            **dict(terms),
        )
        self.active[begun.id] = ActiveRun(begun, approved, filler, is_over)
        return begun

    def take_up(self, run: str, **given: Any) -> Run:
        """Resume a run; see `Executor.take_up`."""
        state = self.executor.state_of(run, given.get("entities"))
        meter = Meter(self.allowance, usage_of(state))
        filler, client = self._filler(state.plan.basis.request, self.memory, meter), self._client(meter)
        approved = ApproveShown(self.executor.world.model.actions, self.executor.approve)
        taken = self.executor.take_up(run, fill=filler, approve=approved, client=client, **given)
        self.active[run] = ActiveRun(taken, approved, filler)
        return taken

    async def follow(self, run: Run, tell: Tell) -> RunOutcome:
        """Wait for the end of `run`, and take over its beliefs as the present state."""
        tell(Began(run.id))
        run.listen(tell)
        was_over = run.id in self.active and self.active[run.id].was_over
        try:
            outcome: RunOutcome = await run
        finally:
            self.active.pop(run.id, None)
        if was_over:
            return outcome
        if self.executor.journal is None and outcome.status.is_over:
            self.ended[run.id] = outcome.state
            while len(self.ended) > MOST_ENDED:
                del self.ended[next(iter(self.ended))]
        self.problem = self._join_changes(self.problem_after(outcome.state), frozenset(outcome.state.source.initial))
        self.unseen = _find_unseen(outcome.state)
        left = self.named.difference(outcome.state.plan.basis.named)
        self.named = left.union(map(outcome.state.objects.real_name, outcome.state.named))
        self._done |= _find_done(outcome.state)
        self._note_results(outcome.state)
        return outcome

    def _join_changes(self, found: Problem, before: frozenset[Atom]) -> Problem:
        """Return the problem `found` after a run that began with the facts `before`, with what others have changed."""
        now = frozenset(self.problem.initial)
        if now == before:
            return found
        after = frozenset(found.initial)
        facts = (now - (before - after)) | (after - before)
        objects = {each.name: each for each in (*self.problem.objects, *found.objects)}
        return replace(found, objects=tuple(objects.values()), initial=tuple(sorted(facts, key=str)))

    def _note_results(self, state: RunState) -> None:
        """Keep the results of steps that provided facts which are sources of data parameters, as plans write them."""
        sources = {each.source.fact.predicate for each in _data_parameters(state.domain) if each.source is not None}
        facts = frozenset(self.problem.initial)
        for fact, id_ in state.providers.items():
            result = state.steps[id_].result
            if fact.predicate in sources and result is not None and state.steps[id_].status.is_done:
                self.results[fact] = Keeper().keep(result)
        self.results = {fact: each for fact, each in self.results.items() if fact in facts}

    def _with_results(self, made: PreparedPlan) -> PreparedPlan:
        """Add results of earlier runs to a plan."""
        results = {str(fact): each for fact, each in self.results.items()}
        return replace(made, plan=made.plan.model_copy(update={"results": results})) if results else made

    def problem_after(self, state: RunState) -> Problem:
        """Return the problem in the state that a run believes; observed facts are no longer unknown.

        What only an unconfirmed contract declares is unknown: what a problem states counts as said by a person.
        Listings are old by the next run: something else may have turned up.
        """
        open_facts, unconfirmed = state.beliefs.unsettled, state.beliefs.unconfirmed
        listed = {each.fact for each in listings_of(state.domain)}
        held = state.beliefs.simulation.facts - open_facts - unconfirmed
        objects, real_name = _list_real_objects(state), state.objects.real_name
        known = {each.name for each in (*objects, *state.domain.constants)}
        stated = [
            Atom(fact.predicate, tuple(map(real_name, fact.args)))
            for fact in held
            if fact.predicate in state.domain.predicates and fact.predicate not in listed
        ]
        facts = tuple(sorted([fact for fact in stated if known.issuperset(fact.args)], key=str))
        unknown, likely = restrict_unknown_facts(self.problem, open_facts)
        claimed = [fact for fact in unconfirmed if not isinstance(fact, FluentValue)]
        unknown = tuple(dict.fromkeys([*unknown, *sorted(claimed, key=str)]))
        made = {state.objects.real_name(name): state.objects[name] for name in state.objects.created}
        entities = {**self.problem.entities, **{name: value for name, value in made.items() if name in known}}
        values = {
            Atom(term.predicate, tuple(map(real_name, term.args))): value
            for term, value in state.beliefs.problem.values.items()
            if pattern_of(term) not in unconfirmed
        }
        values = {term: value for term, value in values.items() if known.issuperset(term.args)}
        now = replace(self.problem, objects=objects, initial=facts, values=values, entities=entities)
        return replace(now, unknown=unknown, likely=likely)

    def current_problem(self, run: str = "", terms: RunTerms = NO_TERMS) -> Problem:
        """Return the problem in the present state, or as `run` believes if it is active.

        What was done on another occasion than that of `terms`, or is to be done again, and was not seen since, does not
        count as done.
        """
        problem = self.problem_after(self.active[run].run.state) if run in self.active else self.problem
        again = {each.replace(" ", "") for each in terms.again}
        left = {
            fact
            for fact, (occasion, step) in self._done.items()
            if (terms.occasion and occasion != terms.occasion) or step.replace(" ", "") in again
        }
        if left.isdisjoint(problem.initial):
            return problem
        return replace(problem, initial=tuple([fact for fact in problem.initial if fact not in left]))

    async def look(self, problem: Problem) -> Problem:
        """Look at what a plan for `problem` may depend on; return `problem` as it is, or in the state that was seen."""
        executor = self.executor
        if executor.look == "never":
            return problem
        state = executor.make_initial_state(ActionPlan(**statement_of(problem)), problem)
        lookout = Lookout(executor.world, state.objects)
        lookout.context = LookContext("", executor.make_deps_of(None).get)
        survey = Survey(state, lookout, lambda event: state.apply(event, executor.clock.time()))
        goal = conjunction([problem.goal.hard, *[each.condition for each in problem.goal.soft]])
        relevant = find_relevant_predicates(problem.domain, goal)
        if not (lookout.has_observers and await survey.look_everywhere(relevant)):
            return problem
        self.problem = self.problem_after(state)
        return make_believed_problem(problem, state, problem)

    def active_run(self, run: str) -> ActiveRun:
        """Return an active run; raises `RunError` for any other."""
        if run not in self.active:
            raise RunError(f"the run {run!r} is not at work here", hint="take it up: resume(run)")
        return self.active[run]

    def report(self, run: str, facts: Mapping[Atom, bool]) -> None:
        """Report values of facts to a run if it is active."""
        if run in self.active:
            self.active[run].run.report(facts)

    def interrupt(self, run: str) -> bool:
        """Interrupt a run if it is active, and return whether it is."""
        if run in self.active:
            self.active[run].run.interrupt()
        return run in self.active

    def redirect(self, run: str, proposal: Proposal, *, also: bool = False) -> Run:
        """Change the goal of an active run to that of `proposal`; raises as `Run.change_goal` does.

        With `also`, the run keeps its former goal in addition, with the former unverified parts.
        """
        doing, made = self.active_run(run), plan_to_run(proposal)
        basis = _join_bases(doing.run.state.plan.basis, made.plan.basis) if also else made.plan.basis
        doing.run.change_goal(made.problem, proposal.request or proposal.words, basis=basis)
        doing.approved.shown.extend(made.plan.steps)
        if doing.filler is not None and proposal.request:
            doing.filler.words += f"\n{proposal.request}"
        return doing.run

    def state_of(self, run: str) -> RunState:
        """Return the state of a run; raises `RunError` for an unknown run."""
        return self.ended[run] if run in self.ended else self.executor.state_of(run)

    def is_known(self, run: str) -> bool:
        """Return whether a run is known to have begun."""
        try:
            return bool(self.state_of(run).run)
        except (RunError, NoRunError):
            return False

    def questions(self, run: str) -> list[Asked]:
        """Return the open questions of a run; none for an unknown run."""
        try:
            return list(self.executor.state_of(run).questions.values())
        except RunError:
            return []

    def _filler(self, words: str, memory: Mapping[str, Any], meter: Meter) -> Filler | None:
        """Make the filler of open parameters from `words`, within the rest of `meter`."""
        return None if self.model is None else Filler(self.model, words, memory, meter)

    def _client(self, meter: Meter) -> ModelClient | None:
        """Make the language model of handlers, within the rest of `meter`."""
        return None if self.model is None else ModelClient(self.model, self.allowance, meter)


def _list_real_objects(state: RunState) -> tuple[Object, ...]:
    """Return the objects of a run by their real names: those of its problem, and those that its steps created."""
    types, real_name = {each.name: each.types for each in state.problem.objects}, state.objects.real_name
    created = [Object(name, types[each]) for each, name in state.objects.created.items() if each in types]
    found = [*[Object(real_name(each.name), each.types) for each in state.source.objects], *created]
    return tuple({each.name: each for each in found}.values())


def find_careful_predicates(domain: DomainModel) -> frozenset[str]:
    """Return the predicates on which steps rest that need observed facts, through axioms, too."""
    careful = [each for each in domain.actions.values() if not each.tags.isdisjoint(CAREFUL)]
    return find_predicates([each.requires for each in careful], domain)


def _find_unseen(state: RunState) -> frozenset[Atom]:
    """Return the facts that hold after a run, that nobody has seen, and that careful steps may rest on."""
    careful = find_careful_predicates(state.domain)
    notes = [note for note in state.beliefs.notes() if note.holds and note.fact.predicate in careful]
    unseen = [note.fact for note in notes if not state.beliefs.is_seen(note.fact)]
    return frozenset([Atom(fact.predicate, tuple(map(state.objects.real_name, fact.args))) for fact in unseen])


def _find_done(state: RunState) -> dict[Atom, tuple[str, str]]:
    """Return the facts that irreversible steps of a run have brought and nobody has seen, with occasion and step."""
    real_name, found = state.objects.real_name, dict[Atom, tuple[str, str]]()
    for fact, id_ in state.providers.items():
        record = state.steps[id_]
        if state.is_irreversible(record) and state.beliefs.is_noted(fact) and not state.beliefs.is_seen(fact):
            step = replace(record.step, arguments=tuple(map(real_name, record.step.arguments)))
            found[Atom(fact.predicate, tuple(map(real_name, fact.args)))] = (state.occasion, str(step))
    return found


def _data_parameters(domain: DomainModel) -> Iterator[DataParameter]:
    return (each for action in domain.actions.values() for each in action.data)


def _join_bases(one: Basis, other: Basis) -> Basis:
    """Join the origins of plans for two requests."""
    unverified = {**one.unverified, **other.unverified}
    requests = "\n".join(filter(None, [one.request, other.request]))
    left = tuple(dict.fromkeys([*one.left, *other.left]))
    proposing = "\n".join(filter(None, [one.proposing, other.proposing]))
    return other.model_copy(
        update={"request": requests, "unverified": unverified, "left": left, "proposing": proposing}
    )
