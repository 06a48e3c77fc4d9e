"""Look before the first step: at what the plan rests on that was only stated, and at what irreversible steps are for.

What differs is believed, and the plan is made anew. Each look is made once; before a step, only what is still unknown,
stale or stated is looked at again, and before an irreversible one, what it is for.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Final, Literal

from executor.events.events import BEGUN, LEFT_OUT, UNFINISHED, Event, FactsSeen, Note, Provenance, StepStatus
from executor.events.fluent_values import FluentValue, item_of
from executor.events.run_state import RunState
from executor.events.steps import StepRecord
from executor.loop.effects import EffectFinder
from executor.loop.purposes import Purposes
from executor.observe.condition_facts import Valued, list_conjuncts, patterns_of
from executor.observe.observe import Lookout, LookResult, Survey, adopt_look
from planner.lightweight import dataclass, field
from planner.model import Action, Atom, DomainModel, Formula, Not
from planner.model.formulas import atoms_in, substitute

Look = Literal["plan", "goal", "never"]
"""What is looked at first: what the plan rests on, all that is relevant to the goal, or nothing."""
BEFORE_ALL: Final = "looked before the first step"
BEFORE_STEP: Final = "looked before an irreversible step"
DIFFERS: Final = "the world is not as was believed"
MOST_NAMED: Final = 5
"""Most facts that a reason names."""
MOST_SERVED: Final = 20
"""Most facts for which an irreversible step is that are looked at right before it: first those of the goal."""


@dataclass(slots=True, eq=False)
class FirstLook:
    """Looks for one run, as `look` says."""

    state: RunState
    lookout: Lookout
    emit: Callable[[Event], None]
    look: Look = "plan"
    foresee: Callable[[], Sequence[StepRecord]] = field(init=False, default=tuple)
    """Function that returns the steps that a policy may take from here."""
    _finder: EffectFinder = field(init=False)
    _purposes: tuple[object, Purposes | None] = field(init=False, default=(None, None))
    """What the steps that are left are for, with the plan and the objects for which this was found."""
    _left_out: set[str] = field(init=False, default_factory=set)
    """Steps that were left out as needless, as text: if another plan needs one, it is done."""
    _looked: tuple[str, int] = field(init=False, default=("", -1))
    """The step whose purposes were looked at last, with the version of the state after that."""

    def __post_init__(self) -> None:
        self._finder = EffectFinder(self.state)
        self._finder.is_watched = self.lookout.watches

    async def take(self) -> str:
        """Look, and return what differs from what was believed; an empty text if nothing does."""
        steps = [*self.state.pending(), *self.foresee()]
        if self.look == "never" or not self.lookout.has_observers or not steps:
            return ""
        beliefs, lookout = self.state.beliefs, self.lookout
        needed = dict.fromkeys([*self._list_stated(steps), *self._list_effects(steps)])
        before = {fact: beliefs.holds(fact) for fact in needed if lookout.can_see(fact)}
        facts, over = dict.fromkeys(before), self._list_patterns(steps)
        if self.look == "goal":
            relevant = find_relevant_predicates(self.state.domain, self.state.goal)
            more, everywhere = Survey(self.state, lookout, self.emit).list_everywhere(relevant)
            facts, over = facts | dict.fromkeys(more), [*dict.fromkeys([*over, *everywhere])]
        if not facts and not over:
            return ""
        looked = await lookout.look(facts, beliefs, over)
        is_news = adopt_look(looked, beliefs, self.emit, BEFORE_ALL, confirming=before)
        self._infer_causes(looked, BEFORE_ALL)
        if not is_news:
            return ""
        changed = [(fact, holds) for fact, holds in before.items() if beliefs.holds(fact) is not holds]
        named = [str(fact) if holds else f"not {fact}" for fact, holds in changed[:MOST_NAMED]]
        return f"{DIFFERS} ({', '.join(named)})" if named else DIFFERS

    def _infer_causes(self, looked: LookResult, cause: str) -> None:
        """Assume what must be so where derived facts are seen that do not follow, for searches read no other sight."""
        beliefs, derived = self.state.beliefs, self.state.problem.domain.derived
        seen = {fact: holds for fact, holds in looked.seen.items() if fact in looked.conclusive}
        odd = [fact for fact in seen if fact.predicate in derived and seen[fact] and not beliefs.simulation.holds(fact)]
        inferred = {
            fact: Note(fact, holds, Provenance.ASSUMED, f"{each} is so")
            for each in odd
            for fact, holds in self._finder.infer_causes(each, seen).items()
            if beliefs.holds(fact) is not holds
        }
        if inferred:
            notes = [each for each in looked.notes if each.fact in odd]
            self.emit(FactsSeen((*notes, *inferred.values()), cause))

    def _list_stated(self, steps: Iterable[StepRecord]) -> Iterable[Atom]:
        """Yield the facts that `steps` need and none of its steps brings before, and that were only stated.

        What steps bring that another process has begun is looked at when they end.
        """
        beliefs = self.state.beliefs
        begun = self.state.with_status(*BEGUN)
        brought = {fact for record in begun for fact in self._finder.find_declared(record.step)}
        for record in steps:
            conditional = beliefs.facts_of_effects(record.step) if self.state.is_irreversible(record) else []
            for fact in [*beliefs.facts_of_precondition(record.step), *conditional]:
                if fact not in brought and not beliefs.is_noted(fact):
                    yield fact
            brought.update(self._finder.find_declared(record.step))

    def _list_effects(self, steps: Iterable[StepRecord]) -> Iterable[Atom]:
        """Yield the facts that irreversible ones of `steps` are for, themselves or through other steps."""
        late = [each for each in steps if self.state.is_irreversible(each)]
        for record in late:
            yield from self._finder.find_effect(record)
        if late and self._is_aimed:
            yield from self._find_purposes().list_served(late)
            yield from self._list_numbers(self.state.goal)

    def _list_patterns(self, steps: Iterable[StepRecord]) -> list[Atom]:
        """Return the open patterns of the goal, if irreversible ones of `steps` create objects that may be there."""
        creates = any(each.plan.creates and self.state.is_irreversible(each) for each in steps)
        return patterns_of(self.state.goal, self.state.problem.domain) if creates and self._is_aimed else []

    def _list_numbers(self, part: Formula) -> list[Atom]:
        """Return the values of numbers on which a part of the goal depends."""
        return [each for each in self.state.beliefs.facts_of(part, {}) if isinstance(each, FluentValue)]

    async def _find_reached(self, record: StepRecord) -> str:
        """Look whether the numbers are reached for which alone an irreversible step is; return as text what is so."""
        parts = self._find_purposes().list_numeric_parts(record)
        numbers = [each for part in parts for each in self._list_numbers(part)]
        if not numbers or not all(map(self.lookout.can_see, numbers)):
            return ""
        facts = [fact for part in parts for fact in self.state.beliefs.facts_of(part, {})]
        self.lookout.forget(facts)  # others may have added to them since
        looked = await self.lookout.look([*filter(self.lookout.can_see, facts)], self.state.beliefs)
        adopt_look(looked, self.state.beliefs, self.emit, BEFORE_STEP)
        self._looked = record.id, self.state.version
        is_sure = {item_of(each) for each in facts} <= {item_of(each) for each in looked.conclusive}
        return ", ".join(map(self._name, parts)) if is_sure and all(map(self.state.beliefs.is_true, parts)) else ""

    @property
    def _is_aimed(self) -> bool:
        """Whether it is known what steps are for: there is an aim, and nothing is undone."""
        return self.state.has_aim and not self.state.is_undoing

    def _find_purposes(self) -> Purposes:
        now, (before, purposes) = (self.state.changes, len(self.state.found), self.state.constraints), self._purposes
        if purposes is None or now != before:
            left = self.state.with_status(*UNFINISHED)
            purposes = Purposes(self.state, self._finder, [*left, *self.foresee()])
            self._purposes = now, purposes
        return purposes

    def name_goals(self, record: StepRecord) -> list[str]:
        """Return the parts of the goal, or the tasks, that a step is for in the end, as texts, with real names.

        Parts about objects that are still to be created tell nothing to other runs.
        """
        hierarchy, state = self.state.hierarchy, self.state
        tasks = [] if hierarchy is None else hierarchy.list_tasks(record.id)
        if not state.has_goal or state.is_undoing:
            return tasks
        aims, exists = list_conjuncts(state.goal, state.beliefs.simulation.rules.universe), state.objects.exists
        parts = [part for part in self._find_purposes().list_goals(record) if all(map(exists, atoms_in(part)))]
        return [*tasks, *(self._name(part) for part in parts if hierarchy is None or part in aims)]

    def name_ends(self, record: StepRecord) -> list[str]:
        """Return the facts that later steps bring for which a step is in the end, as texts, with real names.

        However a goal is said, it is reached by these.
        """
        if not self._is_aimed or self.state.hierarchy is not None:
            return []
        ends = [each if holds else Not(each) for each, holds in self._find_purposes().list_ends(record).items()]
        return [self._name(each) for each in ends[:MOST_SERVED]]

    def _name(self, part: Formula) -> str:
        """Return a part of the goal as text, with real names."""
        objects = self.state.objects
        return str(substitute(part, {each: objects.real_name(each) for each in objects.created}))

    def find_alternatives(self, record: StepRecord) -> list[Valued]:
        """Return the facts, with their values, of other ways to what a step is for; objects have real names."""
        if not self._is_aimed:
            return []
        real_fact = self.state.objects.real_fact
        return [(real_fact(fact), holds) for fact, holds in self._find_purposes().find_alternatives(record)]

    def is_taken_up(self, facts: Iterable[Atom], by: str, goals: Collection[str]) -> bool:
        """Return whether steps that are left build on `facts` on the way to one of the `goals`.

        Facts that the own step `by` has brought are also taken up through steps that were done after it. In a
        hierarchical run, the tasks of a step are those `goals` as long as it is in the decomposition.
        """
        state, hierarchy = self.state, self.state.hierarchy
        if hierarchy is not None and by in hierarchy.steps:
            return True
        over = state.finished
        later = [state.steps[each] for each in over[over.index(by) + 1 :]] if by in over else []
        steps = [*(each for each in later if each.is_done), *state.with_status(*UNFINISHED), *self.foresee()]
        demands = Purposes(state, self._finder, steps, counts_done=True).list_demanding(facts)
        if hierarchy is not None:
            return any(each.by is not None and each.by.status in UNFINISHED for each in demands)
        parts = [self._name(each.what) for each in demands if each.by is None]
        ends = [self._name(end) for each in demands for fact in each.facts for end in (fact, Not(fact))]
        return not {*parts, *ends}.isdisjoint(goals)

    def find_left_behind(self, record: StepRecord) -> str:
        """Return as text that what only irreversible steps bring about is, or may be, so, and the plan left it behind.

        A step that failed, or was given up, was to build on it for a part of the goal for which `record` is now, and
        nothing that is left does. Whoever brought it about, `record` would be done in its place.
        """
        state, found = self.state, dict[Atom, None]()
        if not record.because or not self._is_aimed:
            return ""
        goals, purposes = self.name_goals(record), self._find_purposes()
        for each in [each for each in state.steps.values() if each.status in LEFT_OUT and each.step != record.step]:
            facts = [fact for fact in state.beliefs.facts_of_precondition(each.step) if self._is_beyond_recall(fact)]
            demands = purposes.list_demanding(self._finder.find_declared(each.step)) if facts else ()
            before = {self._name(demand.what) for demand in demands if demand.by is None}
            if facts and (state.hierarchy is not None or not before.isdisjoint(goals)):
                found |= dict.fromkeys(fact for fact in facts if not self.is_taken_up([fact], "", goals))
        are_so = all(state.beliefs.holds(each) for each in found)
        return f"{', '.join(map(self._name, found))} {'is' if are_so else 'may be'} so already" if found else ""

    def _is_beyond_recall(self, fact: Atom) -> bool:
        """Return whether a fact holds, or may hold, that irreversible actions alone bring about."""
        makers = [each for each in self.state.domain.actions.values() if fact.predicate in _list_brought(each)]
        are_irreversible = bool(makers) and all("irreversible" in each.tags for each in makers)
        return are_irreversible and self.state.beliefs.holds(fact) is not False

    async def find_excuse(self, record: StepRecord, *, anew: bool = False) -> tuple[str, list[StepRecord]]:
        """Look whether all that an irreversible step is for, through other steps, is so; return as text what is so.

        Where a search could not know that, beside it return the steps that build on the step: the plan goes on without
        them. The text is empty if it is needed, or may be. Its own effect is looked at when its flight is taken. What
        was looked at before counts, unless it is looked at `anew` as others have acted since.
        """
        name, state, needed = str(record.step), self.state, ("", list[StepRecord]())
        if self.look == "never" or record.attempts or not (self.lookout.has_observers and self._is_aimed):
            return needed
        if self._looked == (record.id, state.version) and not anew:
            return needed
        reached = await self._find_reached(record)
        if reached:
            return reached, []
        purposes, over = self._find_purposes(), self._list_patterns([record])
        facts = [*filter(self.lookout.can_see, purposes.list_telling(record))][:MOST_SERVED]
        own = set[Atom](self._finder.find_declared(record.step))
        if any(each.predicate in state.problem.domain.derived for each in facts):
            own |= self._finder.find_visible_effect(record, self.lookout.can_see).keys()
        if not over and (own.issuperset(facts) or not purposes.find_excuse(record, {}, facts)[0]):
            return needed  # whatever would be seen
        looked = await self.lookout.look(facts, state.beliefs, over)
        adopt_look(looked, state.beliefs, self.emit, BEFORE_STEP)
        self._looked = record.id, state.version
        if record.status not in {StepStatus.PENDING, StepStatus.WAITING}:
            return needed  # meanwhile, the plan goes on without it
        seen = {fact: holds for fact, holds in looked.seen.items() if fact in looked.conclusive}
        found, needless = self._find_purposes().find_excuse(record, seen)
        if own.issuperset(found):
            return needed
        self._infer_causes(looked, BEFORE_STEP)
        is_known = all(state.beliefs.simulation.holds(each) is seen[each] for each in found)
        goes_on = state.hierarchy is not None or (state.policy is None and (state.watches is not None or not is_known))
        others = [each for each in needless if each is not record] if goes_on else []
        is_final = goes_on and state.watches is None
        if (name in self._left_out and not is_final) or not all(each.is_pending for each in others):
            return needed
        self._left_out.add(name)
        excuses = [str(each) if seen[each] else f"not {each}" for each in found]
        return ", ".join(excuses[:MOST_NAMED]), others


def _list_brought(action: Action) -> list[str]:
    """Return the predicates of the facts that an action may bring about."""
    provided = [each.provides for each in action.effects] + [each.provides for each in action.outcomes]
    return [literal.predicate for each in provided for literal in each if isinstance(literal, Atom)]


def find_relevant_predicates(domain: DomainModel, goal: Formula) -> frozenset[str]:
    """Return the predicates on which a plan for `goal` may depend: those of actions that provide relevant ones, too."""
    needs = [(axiom.predicate, {each.predicate for each in atoms_in(axiom.condition)}) for axiom in domain.axioms]
    found = set[str]({each.predicate for each in atoms_in(goal)})
    while True:
        more = set(found)
        for name, below in needs:
            more |= below if name in found else set()
        for action in domain.actions.values():
            effects = [literal for each in action.effects for literal in each.provides]
            if found & {each.predicate for literal in effects for each in atoms_in(literal)}:
                more |= {each.predicate for each in atoms_in(action.requires)}
        if more == found:
            return frozenset(found)
        found = more
