"""Record what failed, which irreversible actions may have happened, and what a run has spent.

A step is not tried again in the state in which it failed. An irreversible ground action that may have happened is not
begun again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, Final

from executor.events.events import Note, Provenance, StepStatus
from executor.plans.action_plan import Basis
from planner.model.actions import positive_atoms
from planner.model.domain import DomainModel
from planner.model.formulas import Atom
from planner.plan import Step
from planner.semantics.condition_solver import Universe, unify

NOT_REPEATED: Final = "it is not repeated"
"""End of the reason why an irreversible action is not repeated."""
Key = tuple[str, tuple[str, ...]]
"""An action and its arguments."""


@dataclass(frozen=True, slots=True)
class Tried:
    """Failures of a ground action: how many `times`, the believed `facts` at the last, and those at `earlier` ones.

    It is `spent` if it may have had an effect, so that another attempt might do it twice.
    """

    times: int
    facts: frozenset[Atom]
    spent: bool
    earlier: tuple[frozenset[Atom], ...] = ()

    def was_in(self, facts: frozenset[Atom]) -> bool:
        """Return whether it has failed while `facts` were believed to hold."""
        return facts == self.facts or facts in self.earlier


class Failures(dict[Key, Tried]):
    """Failures by ground action, for all placeholders of created objects."""

    def __init__(self) -> None:
        super().__init__()
        self._pardoned: set[Key] = set()
        self._latest: set[Key] = set()
        """Actions that failed since a step was begun last: what is observed now held when they failed."""

    def note_failure(
        self, alike: Sequence[Step], facts: frozenset[Atom], *, repeatable: bool, begun: bool = True
    ) -> None:
        """Record the failure of a step while `facts` were believed; it counts for all steps `alike`.

        Later observations do not change the facts of a step that had not `begun`.
        """
        before = self.get((alike[0].action, alike[0].arguments))
        spent = not repeatable or (before is not None and before.spent)
        earlier = () if before is None else (*before.earlier, before.facts)
        tried = Tried(len(earlier) + 1, facts, spent, earlier)
        keys = [(each.action, each.arguments) for each in alike]
        self.update(dict.fromkeys(keys, tried))
        if begun:
            self._latest.update(keys)

    def note_begun(self) -> None:
        """Note that a step has begun: observations from now on may be its effects."""
        self._latest.clear()

    @property
    def is_fresh(self) -> bool:
        """Whether a step has failed, and none has begun since."""
        return bool(self._latest)

    def note_seen(self, situation_for: Callable[[Step], frozenset[Atom]]) -> None:
        """Record what was observed for each step: it held already when the latest steps failed."""
        for key in self._latest:
            self[key] = replace(self[key], facts=situation_for(Step(*key)))

    def pardon(self, steps: Iterable[Step]) -> None:
        """Allow `steps`, and no others, to be tried again in a state in which they failed."""
        self._pardoned = {(each.action, each.arguments) for each in steps}

    def is_barred(self, step: Step, facts: frozenset[Atom]) -> bool:
        """Return whether `step`, which failed before, must not be tried while `facts` are believed."""
        key = step.action, step.arguments
        return self[key].spent or (self[key].was_in(facts) and key not in self._pardoned)


@dataclass(frozen=True, slots=True)
class Begun:
    """An irreversible ground action whose handler was called.

    `step` is the id of the step, and `effects` are its expected values of facts. A conclusive observer has seen the
    effects `absent` to be missing. Effects in `came` were observed, or another step changed them since: if they are
    missing later, that is no evidence that nothing happened. `denied`: the handler itself reported a failure.
    """

    step: str
    effects: Mapping[Atom, bool]
    done: bool = False
    denied: bool = False
    absent: frozenset[Atom] = frozenset()
    came: frozenset[Atom] = frozenset()

    @property
    def outcome(self) -> str:
        """Description of what became of it."""
        if self.done:
            return "was carried out"
        return "has failed, as its handler says" if self.denied else "is in doubt"


class Irreversible:
    """Records the irreversible ground actions of one run that may have happened; these are barred.

    The bar ends if conclusive observers see all effects to be missing, if the step ends without any effect, or if a
    person says that it did not happen. An action whose effects came about stays barred when they are gone.
    """

    def __init__(self) -> None:
        self._begun: dict[Key, Begun] = {}

    def begin(self, step: str, alike: Sequence[Step], effects: Mapping[Atom, bool]) -> None:
        """Record the call of a handler for the ground actions `alike`, which differ only in placeholders."""
        self._begun.update(dict.fromkeys(map(_key, alike), Begun(step, effects)))

    def end(self, step: str, status: StepStatus, *, repeatable: bool, denied: bool) -> None:
        """Record the end of `step`: a `repeatable` failure had no effect; `denied` is as in `Begun`."""
        for key, begun in list(self._begun.items()):
            if begun.step != step:
                continue
            if repeatable and status in {StepStatus.FAILED, StepStatus.PENDING}:
                del self._begun[key]
            else:
                self._begun[key] = replace(begun, done=status.is_done, denied=denied, absent=frozenset())

    def see(self, notes: Iterable[Note], by: str = "") -> None:
        """Update the actions by `notes`: conclusive ones may show that an action had no effect.

        Notes on the effects of a step that was done have its id in `by`.
        """
        if not self._begun:
            return
        seen = {note.fact: note for note in notes if by or note.provenance is Provenance.OBSERVED}
        for key, begun in list(self._begun.items()):
            found = {fact: seen[fact] for fact in begun.effects if fact in seen}
            missing = {
                fact for fact, note in found.items() if note.conclusive and note.holds is not begun.effects[fact]
            }
            absent = (begun.absent - found.keys()) | missing
            is_of_another = by not in {"", begun.step}
            came = {
                fact
                for fact, note in found.items()
                if is_of_another or (note.provenance is Provenance.OBSERVED and note.holds is begun.effects[fact])
            }
            came |= begun.came
            if begun.effects and absent - came >= begun.effects.keys():
                del self._begun[key]
            else:
                self._begun[key] = replace(begun, absent=absent, came=frozenset(came))

    def find_bar(self, step: Step, id_: str, *, is_new: bool) -> str:
        """Return the reason why `step`, with the id `id_`, must not begin; an empty text if it may.

        A step that is not new, as it is in the initial plan or in a policy, may repeat an action that was certainly
        done. Further attempts at the same step are up to its execution policy.
        """
        begun = self._begun.get(_key(step))
        if begun is None or begun.step == id_ or (begun.done and not is_new):
            return ""
        what = "has done it already" if begun.done else "may have done it already"
        return f"{step} is irreversible, and step {begun.step} {what}"

    def describe_bars(self, steps: Iterable[Step]) -> list[str]:
        """Return the reasons why those of `steps` that are barred are not repeated."""
        found = [(step, self._begun[_key(step)].outcome) for step in steps if _key(step) in self._begun]
        return [f"{step} is irreversible and {outcome}: {NOT_REPEATED}" for step, outcome in dict(found).items()]

    def list_barred(self) -> set[Step]:
        """Return the ground actions that are barred for new steps."""
        return {Step(*key) for key in self._begun}

    def find_doubtful_facts(self) -> dict[Atom, str]:
        """Return the facts that a failed action may have provided unnoticed, with its step."""
        doubted = [each for each in self._begun.values() if not (each.done or each.denied)]
        return {
            fact: each.step
            for each in doubted
            for fact, holds in each.effects.items()
            if holds and fact not in each.absent - each.came
        }

    def find_possible_effects(self) -> dict[Atom, bool]:
        """Return the effects, with their values, that actions had or may have had: none is conclusively seen missing.

        A handler that reports a failure is believed.
        """
        begun = [each for each in self._begun.values() if each.done or not each.denied]
        effects = [(each, fact, holds) for each in begun for fact, holds in each.effects.items()]
        return {fact: holds for each, fact, holds in effects if fact not in each.absent - each.came}

    def find_done(self) -> list[Begun]:
        """Return the actions that were done, each once."""
        return list({each.step: each for each in self._begun.values() if each.done}.values())


def find_repetitions(domain: DomainModel, universe: Universe, doubtful: Mapping[Atom, str]) -> dict[Step, str]:
    """Return the irreversible ground actions that provide a fact of `doubtful`, with the step of the fact."""
    found: dict[Step, str] = {}
    irreversible = [each for each in domain.actions.values() if "irreversible" in each.tags] if doubtful else []
    for action, effect in [(each, effect) for each in irreversible for effect in each.effects]:
        names, domains = universe.domains(action.parameters), universe.domains((*action.parameters, *effect.variables))
        for pattern, (fact, step) in product(positive_atoms(effect.provides), doubtful.items()):
            known = unify(pattern.args, fact.args, domains, {}) if pattern.predicate == fact.predicate else None
            if known is not None:
                choices = [[known[name]] if name in known else domains[name] for name in names]
                found |= {Step(action.name, row): step for row in product(*choices)}
    return found


def _key(step: Step) -> Key:
    return step.action, step.arguments


class Spent:
    """Sums the metrics of results, each once, although it comes with `StepReturned` and again with `StepEnded`."""

    def __init__(self, basis: Basis) -> None:
        self.duration = 0.0
        self.tokens = basis.tokens
        self.cost = basis.cost
        self.asked = {"calls": basis.calls, "tokens": basis.tokens, "cost": basis.cost}
        """Cost of reading, proposing and filling: calls of language models, tokens and money."""
        self._saved = {f"saved_{name}": amount for name, amount in basis.saved.items()}
        self._returned: set[str] = set()
        self._asked: set[str] = set()
        """Steps whose present attempt has asked a language model."""
        self.silent: Counter[str] = Counter()
        """Number of attempts at each step that reported no tokens."""

    def note_attempt(self, step: str) -> None:
        """Note that another attempt at `step` begins."""
        self._returned.discard(step)
        self._asked.discard(step)
        self.silent[step] += 1

    def note_result(self, step: str, result: Mapping[str, Any]) -> None:
        """Count the result of an attempt at `step`."""
        self._count_result(step, result)
        self._returned.add(step)

    def note_end(self, step: str, result: Mapping[str, Any] | None) -> None:
        """Count the result with which `step` has ended, unless it was counted before."""
        if step in self._returned:
            self._returned.remove(step)
        elif result is not None:
            self._count_result(step, result)

    def _count_result(self, step: str, result: Mapping[str, Any]) -> None:
        metrics = result.get("metrics") or {}
        self.silent[step] -= bool(metrics.get("tokens")) and step not in self._asked
        self._count(metrics)

    def note_model_call(self, step: str, metrics: Mapping[str, Any]) -> None:
        """Count the cost of a language model that the handler of `step` asked."""
        if metrics.get("tokens") and step not in self._asked:
            self._asked.add(step)
            self.silent[step] -= 1
        self.add(metrics)

    def add(self, metrics: Mapping[str, Any]) -> None:
        """Count the cost of asking language models."""
        self._count(metrics)
        for name in self.asked:
            self.asked[name] += metrics.get(name, 0)

    def _count(self, metrics: Mapping[str, Any] | None) -> None:
        if metrics:
            self.duration += metrics.get("duration", 0.0)
            self.tokens += metrics.get("tokens", 0)
            self.cost += metrics.get("cost", 0.0)

    def to_dict(self) -> dict[str, Any]:
        """Return the sums by name."""
        return {"duration": self.duration, "tokens": self.tokens, "cost": self.cost, **self._saved}
