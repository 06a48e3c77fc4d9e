"""Keep what a run believes about the world: facts, each with its provenance.

The facts that hold are the state of a `Simulation`, so that conditions and effects have the semantics of the plan
checker. An unknown fact is not in that state, and no condition may rest on it. The value of a numeric fluent is a fact,
too (`FluentValue`); there is one note on each fluent, whatever its value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import copy
from functools import partial

from executor.events.events import ANSWER, TRUSTED, UNCONFIRMED, Note, Provenance
from executor.events.fluent_values import FluentValue, places_of, value_of
from executor.observe.condition_facts import is_certain, trace_atoms
from executor.observe.discovery import describe_misfit, find_new_objects
from executor.plans.steps_in_turn import take_in_turn
from planner.errors import did_you_mean, with_article
from planner.language.declare.local_closed_world import listings_of
from planner.lightweight import replace
from planner.model import Atom, Comparison, Forall, Formula, Not
from planner.model.actions import When
from planner.model.arithmetic import Exact
from planner.model.domain import has_numbers, numeric_fluents
from planner.model.formulas import OPEN, conjuncts, functions_in, substitute, with_conjuncts
from planner.model.problem import Problem
from planner.model.unknown_facts import find_hidden_variables
from planner.model.unknown_numbers import find_unread, known_fact, known_predicates
from planner.plan import Step
from planner.semantics.numeric_state import NumberChange, bounds_on
from planner.semantics.simulation import Simulation, bind_parameters
from planner.semantics.step_effects import Changes, staleness_of

CAREFUL = frozenset({"irreversible", "needs_observed"})
"""Tags of careful actions, whose preconditions must be observed."""
SEEN = frozenset({Provenance.GIVEN, Provenance.OBSERVED})
DECLARED = "the problem"
"""Source of facts that are declared unknown and were not observed yet."""
SUPPOSED = "the plan supposes it"
"""Source of suppositions: values that a plan assumes for unknown facts."""


class Beliefs:
    """The believed state of a run's world: a truth value or unknown for each fact, with its provenance."""

    def __init__(self, problem: Problem, internal: frozenset[str] = frozenset()) -> None:
        problem = take_in_turn(problem)
        self._simulation = Simulation(replace(problem, unknown=()))
        self._notes: dict[Atom, Note] = {}
        self._unknown: set[Atom] = set()
        self._derived: dict[Atom, Note] = {}
        """Observations of derived facts since other facts changed last; they override the axioms."""
        self._internal = internal
        self._known = known_predicates(problem.domain)
        self._listings = self._known.union(each.fact for each in listings_of(problem.domain))
        self._staleness = staleness_of(problem.domain)
        tags = problem.domain.predicates.items()
        self._trusted = internal.union(name for name, predicate in tags if "trusted" in predicate.tags)
        variables = find_hidden_variables(problem)
        self._items = tuple([each for each in variables if len(each.facts) > 1 or not each.none])
        """Hidden variables: at most one of the facts of each holds."""
        facts = [fact for variable in variables for fact in variable.facts]
        self._stated = problem
        self._joined: frozenset[str] = frozenset()
        """The objects that turned up during the run."""
        self.adopt([Note(fact, None, Provenance.UNKNOWN, DECLARED) for fact in facts])

    def has_joined(self, name: str) -> bool:
        """Return whether the object `name` turned up during the run."""
        return name in self._joined

    def find_new_objects(self, facts: Iterable[Atom]) -> dict[str, tuple[str, ...]]:
        """Return the objects in `facts` that are not known yet, and those that a fact gives a narrower type."""
        return find_new_objects(facts, self._simulation.problem.domain, self.types_of, self._joined)

    def types_of(self, name: str) -> tuple[str, ...]:
        """Return the declared types of the object `name`; none for an unknown object."""
        universe = self._simulation.rules.universe
        return universe.types_of(name) if name in universe else ()

    def change_objects(self, problem: Problem, joined: frozenset[str]) -> None:
        """Go on with the objects of `problem`, which differs in its objects only; `joined` are those that turned up.

        Facts about new objects that are declared unknown are unknown. Facts about objects that are gone are forgotten.
        """
        problem = take_in_turn(problem)
        before, gone = self._simulation, {each.name for each in self._stated.objects}
        self._stated, self._joined = problem, joined
        gone -= {each.name for each in problem.objects}
        now = before.problem_now
        facts = [fact for fact in now.initial if gone.isdisjoint(fact.args)]
        values = {term: each for term, each in now.values.items() if gone.isdisjoint(term.args)}
        self._simulation = Simulation(replace(problem, unknown=(), initial=tuple(facts), values=values, ran=now.ran))
        self._notes = {fact: note for fact, note in self._notes.items() if gone.isdisjoint(fact.args)}
        self._unknown = {fact for fact in self._unknown if gone.isdisjoint(fact.args)}
        self._derived.clear()
        variables = find_hidden_variables(problem)
        self._items = tuple([each for each in variables if len(each.facts) > 1 or not each.none])
        fresh = [fact for each in variables for fact in each.facts if fact not in self._notes and fact not in facts]
        new = [fact for fact in fresh if not joined.isdisjoint(fact.args)]
        self.adopt([Note(fact, None, Provenance.UNKNOWN, DECLARED) for fact in new])

    @property
    def simulation(self) -> Simulation:
        """The simulation of the believed state; callers must not change it."""
        return self._simulation

    @property
    def problem(self) -> Problem:
        """The problem from the believed state: with its facts and values as initial state, and the actions that ran."""
        return self._simulation.problem_now

    @property
    def situation(self) -> frozenset[Atom]:
        """The facts that hold now, derived ones left out, and the values of fluents."""
        numbers = self._simulation.world.state.values.fluents
        return self._simulation.facts.union([value_of(key, value) for key, value in numbers.items()])

    def situation_for(self, step: Step) -> frozenset[Atom]:
        """Return the facts that hold, and the values of the fluents that `step` reads or changes: others do not count.

        A failed step is no better for a change of numbers that it has nothing to do with.
        """
        return self.situation_in(self._simulation, step)

    def situation_in(self, simulation: Simulation, step: Step) -> frozenset[Atom]:
        """Return what `situation_for` returns, in the state of `simulation`."""
        get = simulation.world.state.values.fluents.get
        keys = [(each.predicate, each.args) for each in self.fluents_of(step)]
        return simulation.facts.union([value_of(key, get(key)) for key in keys])

    def fluents_of(self, step: Step) -> list[Atom]:
        """Return the numeric fluents that the precondition or the effects of `step` read or change, each once."""
        domain = self._simulation.problem.domain
        if not has_numbers(domain):
            return []
        action = domain.actions[step.action]
        binding = dict(bind_parameters(action, step))
        effects = [*action.numbers, *(each for outcome in action.outcomes for each in outcome.numbers)]
        terms = [term.substitute(binding) for each in effects for term in (each.fluent, *functions_in(each.value))]
        terms += [each.fluent for each in self._simulation.changes(step).numbers]
        named = [term for term in terms if term.predicate in numeric_fluents(domain) and term.is_ground]
        facts = [*self.facts_of_precondition(step), *self.facts_of_effects(step)]
        return list(dict.fromkeys([*named, *(fact.fluent for fact in facts if isinstance(fact, FluentValue))]))

    def list_values(self) -> list[FluentValue]:
        """Return the values of all numeric fluents that have or had one."""
        numbers = self._simulation.world.state.values.fluents
        gone = [fact.fluent for fact in self._notes if isinstance(fact, FluentValue) and fact.key not in numbers]
        return [*[value_of(key, value) for key, value in numbers.items()], *map(self.value, gone)]

    def value(self, fluent: Atom) -> FluentValue:
        """Return the fact which value `fluent` has."""
        key = fluent.predicate, fluent.args
        return value_of(key, self._simulation.world.state.values.fluents.get(key))

    def matching(self, pattern: Atom) -> list[Atom]:
        """Return the facts that hold now and that `pattern` covers; of a fluent without a value, that it has none."""
        if not isinstance(pattern, FluentValue):
            return self._simulation.world.state.matching(pattern)
        if pattern.fluent.is_ground:
            now = self.value(pattern.fluent)
            return [now] if pattern.matches(now) else []
        numbers = self._simulation.world.state.values.fluents
        return [fact for key, value in numbers.items() if pattern.matches(fact := value_of(key, value))]

    def holds(self, fact: Atom) -> bool | None:
        """Return whether `fact` holds; None if that is unknown."""
        if isinstance(fact, FluentValue):
            note = self._notes.get(fact.any)
            return None if note is not None and note.holds is None else fact.matches(self.value(fact.fluent))
        if fact.predicate in self._simulation.problem.domain.derived:
            return self._derived[fact].holds if fact in self._derived else self._simulation.holds(fact)
        note = self._notes.get(fact)
        return fact in self._simulation.world.state if note is None else note.holds

    def truth(self, part: Atom | Comparison) -> bool | None:
        """Return whether a fact or a ground comparison holds; None if that is unknown."""
        if isinstance(part, Atom):
            return self.holds(part)
        unknown = any(self.holds(fact) is None for fact in self.facts_of(part, {}))
        return None if unknown else self.is_true(part)

    @property
    def unknown(self) -> list[Atom]:
        """The facts that are declared unknown and still are; a plan may suppose values for them."""
        found = [fact for fact in self._unknown if self._notes[fact].source == DECLARED]
        return sorted(found, key=lambda fact: (fact.predicate, fact.args))

    @property
    def unread(self) -> list[Atom]:
        """The function terms whose values are unknown: those of the state are only supposed."""
        return find_unread(self._simulation.problem_now)

    @property
    def unsettled(self) -> frozenset[Atom]:
        """The facts that were declared unknown and not observed since, including supposed ones."""
        return frozenset([fact for fact, note in self._notes.items() if note.source in {DECLARED, SUPPOSED}])

    def list_suppositions(self, literals: Mapping[Atom, bool]) -> list[Note]:
        """Return notes that suppose those of `literals` that are unknown."""
        free = self.unknown if literals and self._unknown else ()
        return [Note(fact, literals[fact], Provenance.ASSUMED, SUPPOSED) for fact in free if fact in literals]

    def refute(self, literals: Mapping[Atom, bool]) -> list[Note]:
        """Return notes on `literals` after the failure of a step that rested on these suppositions.

        A single supposition was wrong; of several, all are unknown again.
        """
        rested = [note for note in map(self.note, literals) if note.source == SUPPOSED]
        if len(rested) == 1:
            return [Note(rested[0].fact, not rested[0].holds, Provenance.ASSUMED, "a step that rested on it failed")]
        return [Note(note.fact, None, Provenance.UNKNOWN, DECLARED) for note in rested]

    def find_belied(self, literals: Mapping[Atom, bool]) -> list[Atom]:
        """Return the facts of `literals` whose believed value contradicts the literal."""
        return [fact for fact, holds in literals.items() if self.holds(fact) is (not holds)]

    def note(self, fact: Atom) -> Note:
        """Return the believed value of `fact` with its provenance."""
        found = self._find_note(fact)
        return found or Note(fact, self.holds(fact), Provenance.GIVEN)

    def _find_note(self, fact: Atom) -> Note | None:
        """Return the note on `fact`, or on the numeric fluent whose value it is, if there is one."""
        return self._notes.get(fact.any if isinstance(fact, FluentValue) else fact)

    def notes(self) -> Iterator[Note]:
        """Yield the notes taken since the problem was stated."""
        yield from self._notes.values()

    def is_seen(self, fact: Atom) -> bool:
        """Return whether `fact` was observed, is stated by the problem, or is trusted."""
        note = self._find_note(fact)
        if note is None or note.provenance in SEEN:
            return True
        return self.is_trusted(fact) and note.provenance is not Provenance.UNKNOWN

    def is_noted(self, fact: Atom) -> bool:
        """Return whether there is a note on `fact` since the problem was stated."""
        return self._find_note(fact) is not None

    def is_internal(self, fact: Atom) -> bool:
        """Return whether the predicate of `fact` is an internal one, about placeholders."""
        return fact.predicate in self._internal

    def is_listing(self, fact: Atom) -> bool:
        """Return whether `fact` says what is known, not how the world is: all items of a pattern, or a number."""
        return fact.predicate in self._listings

    def is_known_number(self, fact: Atom) -> bool:
        """Return whether `fact` says that the value of a number is known."""
        return fact.predicate in self._known

    def is_trusted(self, fact: Atom) -> bool:
        """Return whether the believed value of `fact` counts as observed without a look."""
        note = self._find_note(fact)
        if note is not None and note.source in {TRUSTED, UNCONFIRMED}:
            return note.source == TRUSTED
        return fact.predicate in self._trusted and not isinstance(fact, FluentValue)

    @property
    def unconfirmed(self) -> frozenset[Atom]:
        """The facts that only an unconfirmed contract declares, and nobody has observed."""
        return frozenset([fact for fact, note in self._notes.items() if note.source == UNCONFIRMED])

    def is_stale(self, fact: Atom) -> bool:
        """Return whether `fact` is stale: false until a step provides it again, or an observer sees its version."""
        note = self._notes.get(fact)
        return note is not None and note.provenance is Provenance.STALE

    def select_news(self, notes: Iterable[Note]) -> list[Note]:
        """Return those of the observations `notes` that change a belief, and the facts that go stale with them.

        A stale fact stays false for observers without versions: they cannot tell whether it was made anew.
        """
        news = [note for note in notes if not self.describe_stranger(note.fact) and self._is_news(note)]
        facts = [note for note in news if note.holds is not None and not isinstance(note.fact, FluentValue)]
        written = [note.fact for note in facts if note.holds is not self.holds(note.fact)]
        seen = {note.fact for note in news}
        stale = [fact for fact in self._find_stale_after(written) if fact not in seen]
        return [*news, *(Note(fact, False, Provenance.STALE) for fact in stale)]

    def describe_stranger(self, fact: Atom) -> str:
        """Describe the argument of `fact` that is no object of the problem or has the wrong type; empty if all fit."""
        universe = self._simulation.rules.universe
        problem = self._simulation.problem
        for arg, parameter in places_of(fact, problem.domain):
            if arg not in universe and (misfit := describe_misfit(arg, parameter.types, problem.domain)):
                return misfit
            if arg not in universe:
                hint = did_you_mean(arg, universe)
                return f"the problem has no object {arg!r}" + (f"; {hint}" if hint else "")
            if arg not in universe.of_types(parameter.types):
                found, wanted = (with_article(" or ".join(each)) for each in (universe.types_of(arg), parameter.types))
                return f"{arg!r} is {found}, not {wanted}"
        return ""

    def _is_news(self, note: Note) -> bool:
        if note.fact.predicate in self._simulation.problem.domain.derived:
            seen = self._derived.get(note.fact)
            return seen is None or seen.holds is not note.holds
        known = self._find_note(note.fact)
        if known is None:
            is_new = note.holds is not self.holds(note.fact) or note.version is not None
            return is_new or (note.holds is True and self._is_untold(note.fact))
        if isinstance(note.fact, FluentValue):
            if note.holds is False and known.fact != note.fact:
                return False  # another value is believed
            return (known.fact, known.holds, known.provenance) != (note.fact, note.holds, note.provenance)
        if note.holds is None and known.source == ANSWER:
            return False  # a person was asked because observers disagree
        if known.provenance is Provenance.STALE and note.holds and note.version is None:
            return False
        return (known.holds, known.provenance, known.version) != (note.holds, note.provenance, note.version)

    def _is_untold(self, fact: Atom) -> bool:
        """Return whether `fact` is the value of a number that is only supposed so far."""
        if not isinstance(fact, FluentValue):
            return False
        says = known_fact(fact.fluent)
        return says.predicate in self._known and not self.holds(says)

    def _find_stale_after(self, written: Iterable[Atom]) -> list[Atom]:
        state = self._simulation.world.state
        return [fact for pattern in self._staleness.of(written) for fact in state.matching(pattern)]

    def find_stale(self, changes: Changes) -> frozenset[Atom]:
        """Return the facts that `changes` end because they go stale, rather than by an effect of the step."""
        if not self._staleness:
            return frozenset()
        patterns = self._staleness.of([*changes.provided, *changes.retracted, *changes.modified])
        return frozenset(fact for fact in changes.removed if any(pattern.matches(fact) for pattern in patterns))

    def adopt(self, notes: Iterable[Note]) -> None:
        """Take over `notes`; the last one about a fact counts."""
        derived = self._simulation.problem.domain.derived
        latest = {note.fact: note for note in notes}
        numbers = [latest.pop(fact) for fact in list(latest) if isinstance(fact, FluentValue)]
        self._adopt_values(numbers)
        if self._known:
            latest = {note.fact: note for note in _note_known(numbers) if note.fact.predicate in self._known} | latest
        seen = {fact: latest.pop(fact) for fact in list(latest) if fact.predicate in derived} if derived else {}
        if (latest or numbers) and self._derived:
            self._derived.clear()
        self._derived.update(seen)
        self._notes.update(latest)
        removed: list[Atom] = []
        added: list[Atom] = []
        for fact, note in latest.items():
            (added if note.holds else removed).append(fact)
            if note.holds is None:
                self._unknown.add(fact)
            elif self._unknown:
                self._unknown.discard(fact)
        self._simulation.world.update(removed, added)
        if self._items and self._unknown:
            follows = list(self._infer(latest))
            if follows:
                self.adopt(follows)

    def _adopt_values(self, notes: Iterable[Note]) -> None:
        """Take over notes on values: a value that does not hold leaves its fluent undefined, if it was believed."""
        for note in sorted(notes, key=lambda each: each.holds is True):
            fact = note.fact
            assert isinstance(fact, FluentValue)
            if note.holds is False and not fact.matches(self.value(fact.fluent)):
                continue
            _set_value(self._simulation, fact, fact.value if note.holds else None)
            self._notes[fact.any] = note
            if note.holds is None:
                self._unknown.add(fact.any)
            else:
                self._unknown.discard(fact.any)

    def _infer(self, known: Iterable[Atom]) -> Iterator[Note]:
        """Yield notes that follow by exclusion within hidden variables from the facts `known` now, unless supposed."""
        for item in self._items:
            if not any(fact in item.facts for fact in known):
                continue
            left = [fact for fact in item.facts if fact in self._unknown and self._notes[fact].source == DECLARED]
            held = [self.note(fact) for fact in item.facts if self.holds(fact)]
            if any(note.source != SUPPOSED for note in held):
                yield from [Note(fact, False, Provenance.ASSUMED, "something else is so") for fact in left]
            elif len(left) == 1 and not (item.none or held):
                yield Note(left[0], True, Provenance.ASSUMED, "nothing else is left")

    def after(self, notes: Iterable[Note]) -> Beliefs:
        """Return a copy of the beliefs with `notes` adopted."""
        twin = copy(self)
        twin._detach()  # noqa: SLF001 - one of its own
        twin.adopt(notes)
        return twin

    def _detach(self) -> None:
        """Copy all mutable parts after a shallow copy."""
        self._simulation, self._notes, self._unknown = self._simulation.copy(), {**self._notes}, {*self._unknown}
        self._derived = {**self._derived}

    def record_action(self, step: Step) -> None:
        """Record that the action of `step` has run, for preconditions `after` it."""
        if step.action in self._simulation.rules.remembered:
            self._simulation.history.update((), [Atom(step.action, step.arguments)])

    def facts_of(self, formula: Formula, binding: Mapping[str, str]) -> list[Atom]:
        """Return the ground facts, without derived ones, that `formula` depends on; each once.

        Axioms of observed derived facts are not followed. Of a numeric fluent, it is the fact which value it has.
        """
        rules, known = self._simulation.rules, self._derived
        domain = rules.problem.domain
        found = trace_atoms(formula, domain, rules.universe, binding, known=known)
        return [
            self.value(fact.fluent) if isinstance(fact, FluentValue) else fact
            for fact in found
            if isinstance(fact, FluentValue) or (fact.predicate not in domain.derived and fact not in known)
        ]

    def derived_of(self, formula: Formula) -> list[Atom]:
        """Return the ground derived facts that the ground `formula` depends on; each once."""
        rules = self._simulation.rules
        domain = rules.problem.domain
        if not domain.derived:
            return []
        found = trace_atoms(formula, domain, rules.universe, {})
        return [fact for fact in found if fact.predicate in domain.derived and not isinstance(fact, FluentValue)]

    def get_seen_derived(self, fact: Atom) -> Note:
        """Return the observation of a derived fact; raises `KeyError` without one."""
        return self._derived[fact]

    @property
    def has_seen_derived(self) -> bool:
        """Whether there are observations of derived facts, which override the axioms."""
        return bool(self._derived)

    def precondition_of(self, step: Step) -> Formula:
        """Return the ground precondition of `step`, without the actions that have to run before it.

        It says, too, that the step's own numeric effects keep the bounds of their fluents.
        """
        domain = self._simulation.problem.domain
        action = domain.actions[step.action]
        binding = dict(bind_parameters(action, step))
        required = substitute(action.requires, binding)
        if not action.numbers:
            return required
        effects = [each.substitute(binding) for each in action.numbers]
        fluents = dict.fromkeys(each.fluent for each in effects)
        bounds = [
            bound
            for fluent in fluents
            for bound in bounds_on(fluent, [each for each in effects if each.fluent == fluent], domain)
        ]
        return with_conjuncts(required, *bounds)

    def facts_of_effects(self, step: Step, *, on: str = "") -> list[Atom]:
        """Return the facts that the conditional effects of `step` depend on.

        With `on`, only effects on that predicate count.
        """
        action = self._simulation.problem.domain.actions[step.action]
        binding = bind_parameters(action, step) if action.when else {}
        conditions = [
            Forall(each.variables, each.requires) if each.variables else each.requires
            for each in action.when
            if not on or on in _find_changed_predicates(each)
        ]
        return [fact for each in conditions for fact in self.facts_of(each, binding)]

    def facts_of_precondition(self, step: Step) -> list[Atom]:
        """Return the facts that the precondition of `step` depends on."""
        return self.facts_of(self.precondition_of(step), {})

    @property
    def is_sure(self) -> bool:
        """Whether no fact is unknown."""
        return not self._unknown

    def find_doubtful(self, condition: Formula, *, careful: bool) -> list[Atom]:
        """Return the decisive facts of the ground `condition` that are not reliable.

        Unknown facts are not reliable; if `careful`, no fact is that was not observed.
        """
        return self.find_decisive(
            condition, lambda fact: self.holds(fact) is None or (careful and not self.is_seen(fact))
        )

    def find_decisive(self, condition: Formula, unsure: Callable[[Atom], bool]) -> list[Atom]:
        """Return the `unsure` facts that decide whether the ground `condition` holds.

        The result is empty if some conjunct fails for all values of the unsure facts. Otherwise it has the decisive
        facts of the conjuncts that fail, or else of those that hold.
        """
        found: dict[bool, dict[Atom, None]] = {True: {}, False: {}}
        for part in conjuncts(condition):
            holds = self.is_true(part)
            facts = [fact for fact in self.facts_of(part, {}) if unsure(fact)]
            decisive = self._narrow_to_decisive(facts, part, holds=holds) if facts else []
            if not (holds or decisive):
                return []
            found[holds].update(dict.fromkeys(decisive))
        return list(found[False] or found[True])

    def _narrow_to_decisive(self, facts: list[Atom], part: Formula, *, holds: bool) -> list[Atom]:
        """Return those of the uncertain `facts` that alone would flip the truth value of `part`.

        Return all of them if none does alone and the believed value of `part` is still not certain.
        """
        if facts == [part.part if isinstance(part, Not) else part]:
            return facts
        flips = partial(self._flips, self._simulation.copy())

        def truth(fact: Atom | Comparison) -> bool | None:
            if isinstance(fact, Atom) and fact in self._derived:
                return self._derived[fact].holds
            among = [each for each in self.facts_of(fact, {}) if each in uncertain]
            if isinstance(fact, Comparison):
                return None if among else self.is_true(fact)
            unsure = any(flips(fact, [each]) for each in among) or (among and flips(fact, among))
            return None if unsure else self.is_true(fact)

        uncertain = frozenset(facts)
        if is_certain(part, truth, self._simulation.rules.universe, positive=holds):
            return []
        return [fact for fact in facts if flips(part, [fact])] or facts

    def _flips(self, twin: Simulation, part: Formula, facts: Iterable[Atom]) -> bool:
        """Return whether negating all `facts` flips `part`; `twin` is a copy of the believed state."""
        _toggle_facts(twin, facts)
        holds = self._holds_in(twin, part)
        _toggle_facts(twin, facts)
        return holds is not self.is_true(part)

    def is_true(self, formula: Formula) -> bool:
        """Return whether `formula` holds in the believed state; unknown facts count as false."""
        return self._holds_in(self._simulation, formula)

    def _holds_in(self, simulation: Simulation, formula: Formula) -> bool:
        """Return whether the ground `formula` holds in `simulation`, with observed derived facts."""
        if not self._derived:
            return simulation.holds(formula)

        def truth(fact: Atom | Comparison) -> bool | None:
            seen = self._derived.get(fact) if isinstance(fact, Atom) else None
            return simulation.holds(fact) if seen is None else bool(seen.holds)

        return is_certain(formula, truth, simulation.rules.universe, positive=True)

    def find_unexplained(self, formula: Formula) -> list[Atom]:
        """Return the derived facts of `formula` that follow from believed facts but were observed to be false."""
        facts = self.derived_of(formula) if self._derived else ()
        return [
            fact
            for fact in facts
            if fact in self._derived and self.holds(fact) is False and self._simulation.holds(fact)
        ]

    def doubt_causes(self, derived: Atom) -> list[Note]:
        """Return notes that make the unobserved facts unknown from which `derived` follows.

        `derived` was observed to be false, so that one of these beliefs is wrong.
        """
        twin = copy(self)
        twin._detach()  # noqa: SLF001 - one of its own
        twin._derived = {}  # noqa: SLF001 - as above
        facts = twin.find_decisive(derived, lambda fact: not self.is_seen(fact))
        reason = f"{self._derived[derived].source} saw that {derived} does not hold"
        return [Note(fact, None, Provenance.UNKNOWN, reason) for fact in facts]


def _note_known(values: Iterable[Note]) -> Iterator[Note]:
    """Yield notes that the values are known which somebody has told."""
    for note in values:
        fact, is_told = note.fact, note.holds and note.provenance is not Provenance.ASSUMED
        if is_told and isinstance(fact, FluentValue) and fact.value is not None:
            yield replace(note, fact=known_fact(fact.fluent), version=None)


def _find_changed_predicates(effect: When) -> set[str]:
    """Return the predicates that `effect` changes."""
    return {each.predicate for each in effect.written}


def _toggle_facts(simulation: Simulation, facts: Iterable[Atom]) -> None:
    """Negate `facts` in the state of `simulation`; a fluent without its value is undefined."""
    state = simulation.world.state
    numbers = [fact for fact in facts if isinstance(fact, FluentValue)]
    for each in numbers:
        _set_value(simulation, each, each.value if state.values.fluents.get(each.key) is None else None)
    others = [fact for fact in facts if not isinstance(fact, FluentValue)]
    held = [fact for fact in others if fact in state]
    simulation.world.update(held, [fact for fact in others if fact not in held])


def _set_value(simulation: Simulation, fact: FluentValue, value: Exact | None) -> None:
    before = simulation.world.state.values.fluents.get(fact.key)
    simulation.world.update((), (), [NumberChange(fact.fluent, before, value)])


def is_in_place(item: Atom) -> bool:
    """Return whether an item of `modifies` is changed in place: it has no open argument, and stays true."""
    return OPEN not in item.args
