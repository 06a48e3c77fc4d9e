"""Keep what a run believes about the world: facts, each with its provenance.

The facts that hold are the state of a `Simulation`, so that conditions and effects mean here what they mean to the plan
checker. An unknown fact is not in that state, and no condition may rest on it. Whether a condition holds whatever the
uncertain facts are is decided by strong three-valued logic (Kleene, 1952).
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from copy import copy
from functools import partial
from itertools import product

from executor.events.events import ANSWER, TRUSTED, Note, Provenance
from planner.errors import did_you_mean, with_article
from planner.lightweight import replace
from planner.model import And, Atom, Equals, Exists, Forall, Formula, Imply, Not, Or
from planner.model.actions import When, negated_atoms, positive_atoms
from planner.model.domain import DomainModel
from planner.model.formulas import OPEN, atoms_in, conjuncts, is_variable, substitute
from planner.model.problem import Problem
from planner.model.unknown_facts import find_hidden_variables
from planner.plan import Step
from planner.semantics.condition_solver import Universe
from planner.semantics.simulation import Simulation, bind_parameters
from planner.semantics.step_effects import Changes, staleness_of


def is_certain(formula: Formula, truth: Callable[[Atom], bool | None], universe: Universe, *, positive: bool) -> bool:
    """Return whether the ground `formula` (its negation unless `positive`) holds, whatever `truth` says None of."""
    match formula:
        case Atom():
            return truth(formula) is positive
        case Equals(left, right):
            return (left == right) is positive
        case Not(part):
            return is_certain(part, truth, universe, positive=not positive)
        case And() | Or() | Imply() | Forall() | Exists():
            together = all if isinstance(formula, And | Forall) is positive else any
            return together(
                is_certain(each, truth, universe, positive=positive) for each in _list_parts(formula, universe)
            )


def _list_parts(formula: And | Or | Imply | Forall | Exists, universe: Universe) -> Iterable[Formula]:
    """Return what `formula` is a conjunction or a disjunction of."""
    match formula:
        case And(parts) | Or(parts):
            return parts
        case Imply(premise, conclusion):
            return Not(premise), conclusion
        case Forall(variables, part) | Exists(variables, part):
            names = [each.name for each in variables]
            rows = product(*[tuple(universe.of_types(each.types)) for each in variables])
            return (substitute(part, dict(zip(names, row, strict=True))) for row in rows)


def facts_of(
    formula: Formula,
    domain: DomainModel,
    universe: Universe,
    binding: Mapping[str, str],
    *,
    known: Container[Atom] = (),
) -> list[Atom]:
    """Return the ground facts, derived ones left out, whose truth `formula` may depend on; each once.

    Derived facts that are `known` depend on nothing.
    """
    derived = domain.derived
    return [
        fact
        for fact in _trace_atoms(formula, domain, universe, binding, known=known)
        if fact.predicate not in derived and fact not in known
    ]


def derived_of(formula: Formula, domain: DomainModel, universe: Universe) -> list[Atom]:
    """Return the ground derived facts whose truth the ground `formula` may depend on; each once."""
    derived = domain.derived
    return (
        [fact for fact in _trace_atoms(formula, domain, universe, {}) if fact.predicate in derived] if derived else []
    )


def patterns_of(formula: Formula, domain: DomainModel) -> list[Atom]:
    """Return a pattern for each quantified atom whose truth the ground `formula` may depend on; each once.

    A pattern has `OPEN` in place of each variable, and so stands for facts about objects of any name.
    """
    found: dict[Atom, None] = {}
    stack = [formula]
    while stack:
        for atom in atoms_in(stack.pop()):
            pattern = Atom(atom.predicate, tuple([OPEN if is_variable(arg) else arg for arg in atom.args]))
            if pattern not in found:
                found[pattern] = None
                stack += _find_explanations(pattern, domain)
    return [pattern for pattern in found if OPEN in pattern.args]


def _find_explanations(fact: Atom, domain: DomainModel) -> list[Formula]:
    """Return the conditions from which a derived fact, or a pattern of such facts, follows."""
    return [
        substitute(axiom.condition, dict(zip([each.name for each in axiom.parameters], fact.args, strict=True)))
        for axiom in domain.axioms
        if axiom.predicate == fact.predicate
    ]


def _trace_atoms(
    formula: Formula,
    domain: DomainModel,
    universe: Universe,
    binding: Mapping[str, str],
    *,
    known: Container[Atom] = (),
) -> dict[Atom, None]:
    """Return the ground facts that `formula` names, and those that the derived ones among them follow from."""
    derived = domain.derived
    found: dict[Atom, None] = {}
    stack = [substitute(formula, binding)]
    while stack:
        for fact in _iterate_atoms(stack.pop(), universe):
            if fact in found:
                continue
            found[fact] = None
            if fact.predicate in derived and fact not in known:
                stack += _find_explanations(fact, domain)
    return found


def _iterate_atoms(formula: Formula, universe: Universe) -> Iterator[Atom]:
    """Yield the ground atoms of `formula`, quantified parts once for each choice of objects."""
    stack = [formula]
    while stack:
        match stack.pop():
            case Atom() as fact:
                yield fact
            case And(parts) | Or(parts):
                stack.extend(parts)
            case Not(part):
                stack.append(part)
            case Imply(premise, conclusion):
                stack += [premise, conclusion]
            case Forall(variables, part) | Exists(variables, part):
                names = [each.name for each in variables]
                choices = [tuple(universe.of_types(each.types)) for each in variables]
                stack += [substitute(part, dict(zip(names, each, strict=True))) for each in product(*choices)]


SEEN = frozenset({Provenance.GIVEN, Provenance.OBSERVED})
DECLARED = "the problem"
"""The source of what is unknown because it is declared so, and nobody has looked yet."""
SUPPOSED = "the plan supposes it"
"""The source of what is taken to hold, or not, as long as nobody knows better."""


class Beliefs:
    """The state of a run's world, as far as it is known; what its problem declares unknown is not, until it is seen."""

    def __init__(self, problem: Problem, internal: frozenset[str] = frozenset()) -> None:
        self._simulation = Simulation(replace(problem, unknown=()))
        self._notes: dict[Atom, Note] = {}
        self._unknown: set[Atom] = set()
        self._derived: dict[Atom, Note] = {}
        """What was seen of derived facts since the facts below them changed last: it counts more than what follows."""
        self._internal = internal
        self._staleness = staleness_of(problem.domain)
        tags = problem.domain.predicates.items()
        self._trusted = internal.union(name for name, predicate in tags if "trusted" in predicate.tags)
        variables = find_hidden_variables(problem)
        self._items = tuple([each for each in variables if len(each.facts) > 1 or not each.none])
        """Of whose facts no more than one holds."""
        facts = [fact for variable in variables for fact in variable.facts]
        self.adopt([Note(fact, None, Provenance.UNKNOWN, DECLARED) for fact in facts])

    @property
    def simulation(self) -> Simulation:
        """The state, to ask and not to change."""
        return self._simulation

    @property
    def problem(self) -> Problem:
        """The problem as it stands now: its initial state is what holds, and what ran has run."""
        simulation = self._simulation
        return replace(simulation.problem, initial=tuple(simulation.world.state), ran=tuple(simulation.history))

    def holds(self, fact: Atom) -> bool | None:
        """Return whether `fact` holds; None where that is unknown."""
        if fact.predicate in self._simulation.problem.domain.derived:
            return self._derived[fact].holds if fact in self._derived else self._simulation.holds(fact)
        note = self._notes.get(fact)
        return fact in self._simulation.world.state if note is None else note.holds

    @property
    def unknown(self) -> list[Atom]:
        """The facts that are unknown because they are declared so: a plan may suppose them."""
        found = [fact for fact in self._unknown if self._notes[fact].source == DECLARED]
        return sorted(found, key=lambda fact: (fact.predicate, fact.args))

    @property
    def unsettled(self) -> frozenset[Atom]:
        """The facts that were declared unknown and that nobody has found out: what is only supposed is among them."""
        return frozenset([fact for fact, note in self._notes.items() if note.source in {DECLARED, SUPPOSED}])

    def list_suppositions(self, literals: Mapping[Atom, bool]) -> list[Note]:
        """Return what is to be believed where those of `literals` are supposed that are unknown."""
        free = self.unknown if literals and self._unknown else ()
        return [Note(fact, literals[fact], Provenance.ASSUMED, SUPPOSED) for fact in free if fact in literals]

    def refute(self, literals: Mapping[Atom, bool]) -> list[Note]:
        """Return what is to be believed of `literals` after a step has failed that was done because they are supposed.

        If it rested on one, that is wrong; of several, nobody knows which.
        """
        rested = [note for note in map(self.note, literals) if note.source == SUPPOSED]
        if len(rested) == 1:
            return [Note(rested[0].fact, not rested[0].holds, Provenance.ASSUMED, "a step that rested on it failed")]
        return [Note(note.fact, None, Provenance.UNKNOWN, DECLARED) for note in rested]

    def find_belied(self, literals: Mapping[Atom, bool]) -> list[Atom]:
        """Return the facts of `literals` that are known to be otherwise."""
        return [fact for fact, holds in literals.items() if self.holds(fact) is (not holds)]

    def note(self, fact: Atom) -> Note:
        """Return what is known about `fact`, and from where."""
        found = self._notes.get(fact)
        return found or Note(fact, fact in self._simulation.world.state, Provenance.GIVEN)

    def notes(self) -> Iterator[Note]:
        """Yield what became known since the problem was stated."""
        yield from self._notes.values()

    def is_seen(self, fact: Atom) -> bool:
        """Return whether somebody looked (or the problem states it), or its predicate is trusted."""
        note = self._notes.get(fact)
        if note is None or note.provenance in SEEN:
            return True
        return self.is_trusted(fact) and note.provenance is not Provenance.UNKNOWN

    def is_noted(self, fact: Atom) -> bool:
        """Return whether anything became known about `fact` since the problem was stated."""
        return fact in self._notes

    def is_internal(self, fact: Atom) -> bool:
        """Return whether `fact` is about a placeholder as such."""
        return fact.predicate in self._internal

    def is_trusted(self, fact: Atom) -> bool:
        """Return whether what is believed about `fact` counts as seen, though nobody has looked."""
        note = self._notes.get(fact)
        return fact.predicate in self._trusted or (note is not None and note.source == TRUSTED)

    def is_stale(self, fact: Atom) -> bool:
        """Return whether `fact` stays false until it is brought about anew, or its version is seen."""
        note = self._notes.get(fact)
        return note is not None and note.provenance is Provenance.STALE

    def select_news(self, notes: Iterable[Note]) -> list[Note]:
        """Return those of `notes`, which are observations, that are news, and what goes stale with them.

        A stale fact stays false for observers that know no version: they cannot tell what it was made from.
        """
        news = [note for note in notes if not self.describe_stranger(note.fact) and self._is_news(note)]
        written = [note.fact for note in news if note.holds is not None and note.holds is not self.holds(note.fact)]
        seen = {note.fact for note in news}
        stale = [fact for fact in self._find_stale_after(written) if fact not in seen]
        return [*news, *(Note(fact, False, Provenance.STALE) for fact in stale)]

    def describe_stranger(self, fact: Atom) -> str:
        """Return what is wrong with `fact`, which the domain knows: it may be about objects that the problem lacks."""
        universe, predicate = (
            self._simulation.rules.universe,
            self._simulation.problem.domain.predicates[fact.predicate],
        )
        for arg, parameter in zip(fact.args, predicate.parameters, strict=True):
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
        known = self._notes.get(note.fact)
        if known is None:
            return note.holds is not (note.fact in self._simulation.world.state) or note.version is not None
        if note.holds is None and known.source == ANSWER:
            return False  # a person was asked because observers disagree
        if known.provenance is Provenance.STALE and note.holds and note.version is None:
            return False
        return (known.holds, known.provenance, known.version) != (note.holds, note.provenance, note.version)

    def _find_stale_after(self, written: Iterable[Atom]) -> list[Atom]:
        state = self._simulation.world.state
        return [fact for pattern in self._staleness.of(written) for fact in state.matching(pattern)]

    def find_stale(self, changes: Changes) -> frozenset[Atom]:
        """Return the facts among those that `changes` end which go stale, and are not undone by the step itself."""
        if not self._staleness:
            return frozenset()
        patterns = self._staleness.of([*changes.provided, *changes.retracted, *changes.modified])
        return frozenset(fact for fact in changes.removed if any(pattern.matches(fact) for pattern in patterns))

    def adopt(self, notes: Iterable[Note]) -> None:
        """Believe `notes`, of several about one fact the last."""
        derived = self._simulation.problem.domain.derived
        latest = {note.fact: note for note in notes}
        seen = {fact: latest.pop(fact) for fact in list(latest) if fact.predicate in derived} if derived else {}
        if latest and self._derived:
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

    def _infer(self, known: Iterable[Atom]) -> Iterator[Note]:
        """Yield what follows for other facts of the same items from what is `known` by now, and not only supposed."""
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
        """Return beliefs of their own: what would be believed after `notes`."""
        twin = copy(self)
        twin._detach()  # noqa: SLF001 - one of its own
        twin.adopt(notes)
        return twin

    def _detach(self) -> None:
        """Share nothing that changes with the beliefs that these are a copy of."""
        self._simulation, self._notes, self._unknown = self._simulation.copy(), {**self._notes}, {*self._unknown}
        self._derived = {**self._derived}

    def record_action(self, step: Step) -> None:
        """Note that the action of `step` has run, for those that come after it."""
        if step.action in self._simulation.rules.remembered:
            self._simulation.history.update((), [Atom(step.action, step.arguments)])

    def facts_of(self, formula: Formula, binding: Mapping[str, str]) -> list[Atom]:
        """Return the ground facts, derived ones left out, whose truth `formula` may depend on."""
        rules = self._simulation.rules
        return facts_of(formula, rules.problem.domain, rules.universe, binding, known=self._derived)

    def derived_of(self, formula: Formula) -> list[Atom]:
        """Return the ground derived facts whose truth the ground `formula` may depend on."""
        rules = self._simulation.rules
        return derived_of(formula, rules.problem.domain, rules.universe)

    def get_seen_derived(self, fact: Atom) -> Note:
        """Return what was seen of a derived fact; raises `KeyError` where nothing was."""
        return self._derived[fact]

    @property
    def has_seen_derived(self) -> bool:
        """Whether something was seen of derived facts that need not be what follows from other facts."""
        return bool(self._derived)

    def precondition_of(self, step: Step) -> Formula:
        """Return the ground condition on which `step` can be applied, but for what has to have run before it."""
        action = self._simulation.problem.domain.actions[step.action]
        return substitute(action.requires, dict(bind_parameters(action, step)))

    def facts_of_effects(self, step: Step, *, on: str = "") -> list[Atom]:
        """Return the facts on which it depends which of its conditional effects `step` has.

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
        """Return the facts on which it may depend whether `step` can be applied."""
        return self.facts_of(self.precondition_of(step), {})

    @property
    def is_sure(self) -> bool:
        """Whether nothing is unknown."""
        return not self._unknown

    def find_doubtful(self, condition: Formula, *, careful: bool) -> list[Atom]:
        """Return the facts on which it depends whether the ground `condition` holds, and on which nothing may rest.

        Those are unknown facts, and for who is `careful` all that nobody has seen.
        """
        return self.find_decisive(
            condition, lambda fact: self.holds(fact) is None or (careful and not self.is_seen(fact))
        )

    def find_decisive(self, condition: Formula, unsure: Callable[[Atom], bool]) -> list[Atom]:
        """Return the facts of which one is `unsure` and on which it rests that the ground `condition` holds, or not.

        What nothing but other facts can change is no concern of them: nothing rests on a fact where the condition does
        not hold whether that fact does or not.
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
        """Return those of the uncertain `facts` that would alone make `part` come out otherwise.

        All of them where none does alone, and it is still not certain that `part` holds, or not, as is believed.
        """
        if facts == [part.part if isinstance(part, Not) else part]:
            return facts
        flips = partial(self._flips, self._simulation.copy())

        def truth(fact: Atom) -> bool | None:
            if fact in self._derived:
                return self._derived[fact].holds
            among = [each for each in self.facts_of(fact, {}) if each in uncertain]
            unsure = any(flips(fact, [each]) for each in among) or (among and flips(fact, among))
            return None if unsure else self.is_true(fact)

        uncertain = frozenset(facts)
        if is_certain(part, truth, self._simulation.rules.universe, positive=holds):
            return []
        return [fact for fact in facts if flips(part, [fact])] or facts

    def _flips(self, twin: Simulation, part: Formula, facts: Iterable[Atom]) -> bool:
        """Return whether `part` comes out otherwise if no fact of `facts` is as is believed; `twin` has that state."""
        _toggle_facts(twin, facts)
        holds = self._holds_in(twin, part)
        _toggle_facts(twin, facts)
        return holds is not self.is_true(part)

    def is_true(self, formula: Formula) -> bool:
        """Return whether `formula` holds as far as is known; unknown facts count as false."""
        return self._holds_in(self._simulation, formula)

    def _holds_in(self, simulation: Simulation, formula: Formula) -> bool:
        """Return whether the ground `formula` holds in this state, with what was seen of derived facts."""
        if not self._derived:
            return simulation.holds(formula)

        def truth(fact: Atom) -> bool | None:
            seen = self._derived.get(fact)
            return simulation.holds(fact) if seen is None else bool(seen.holds)

        return is_certain(formula, truth, simulation.rules.universe, positive=True)

    def find_unexplained(self, formula: Formula) -> list[Atom]:
        """Return the derived facts in the ground `formula` that were seen to be false, and follow from other facts."""
        facts = self.derived_of(formula) if self._derived else ()
        return [
            fact
            for fact in facts
            if fact in self._derived and self.holds(fact) is False and self._simulation.holds(fact)
        ]

    def doubt_causes(self, derived: Atom) -> list[Note]:
        """Return that nobody knows the facts that nobody has seen, and from which `derived` follows.

        It was seen to be false, so that one of them is otherwise than is believed.
        """
        twin = copy(self)
        twin._detach()  # noqa: SLF001 - one of its own
        twin._derived = {}  # noqa: SLF001 - as above
        facts = twin.find_decisive(derived, lambda fact: not self.is_seen(fact))
        reason = f"{self._derived[derived].source} saw that {derived} does not hold"
        return [Note(fact, None, Provenance.UNKNOWN, reason) for fact in facts]


def _find_changed_predicates(effect: When) -> set[str]:
    """Return the predicates of what `effect` changes."""
    return {
        each.predicate for each in (*positive_atoms(effect.provides), *negated_atoms(effect.provides), *effect.modifies)
    }


def _toggle_facts(simulation: Simulation, facts: Iterable[Atom]) -> None:
    """Make those of `facts` hold that did not, and the others not."""
    state = simulation.world.state
    held = [fact for fact in facts if fact in state]
    simulation.world.update(held, [fact for fact in facts if fact not in held])


def is_in_place(item: Atom) -> bool:
    """Return whether an item of `modifies` is changed in place, and stays true."""
    return OPEN not in item.args
