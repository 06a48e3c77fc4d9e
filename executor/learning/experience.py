"""Learn from the runs in a journal: tallies of attempts, and domains and problems with the learned risks and costs.

`Pricing` applies what was learned to the problems of a run's searches.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar

from executor.errors import NoRunError
from executor.events.events import RunStatus
from executor.journal import DatabaseAddress, RunHistory, open_journal
from executor.learning.attempts import READ, AttemptReader, Tally, Trial, merge_tallies
from executor.learning.learned_action import LearnedAction, Learning
from executor.tools.json_data import load_json
from planner.compilations.determinization import expected_costs
from planner.errors import InputError, did_you_mean
from planner.language.declare import resolve_action
from planner.lightweight import replace
from planner.model import Action, DomainModel, Object, Problem, TypeHierarchy
from planner.model.problem import seal_like
from planner.problem_kinds import AnyProblem, is_other_problem

Tallies = Mapping[tuple[str, tuple[tuple[str, str], ...]], Tally]
"""Tallies by action and its objects by parameter."""


def apply_tallies(what: Any, tallies: Tallies, learning: Learning) -> Any:
    """Apply tallies to `what`, a domain or a problem; raises `InputError`."""
    if isinstance(what, Problem):
        return seal_like(replace(what, domain=_apply_to_domain(what.domain, what.all_objects, tallies, learning)), what)
    if is_other_problem(what):
        return _replace_classical(what, apply_tallies(what.classical, tallies, learning))
    if isinstance(what, DomainModel):
        return _apply_to_domain(what, (), tallies, learning)
    hint = "such as domain.model, or domain.problem(…)"
    raise InputError(f"what is learned is applied to a domain or a problem, not to {what!r}", hint=hint)


def _replace_classical(problem: Any, classical: Problem) -> Any:
    """Replace the classical part of a hierarchical problem."""
    return replace(problem, domain=replace(problem.domain, classical=classical.domain), classical=classical)


def _apply_to_domain(
    domain: DomainModel, objects: Iterable[Object], tallies: Tallies, learning: Learning
) -> DomainModel:
    """Apply tallies to the actions of `domain`; `objects` may be told apart without having been tried."""
    apart = {action.name: names for action, names in _find_told_apart(domain, learning)}
    seen: dict[str, list[tuple[Mapping[str, str], Tally]]] = {name: [] for name in domain.actions}
    for (name, arguments), tally in tallies.items():
        action = _find_action(domain, name)
        if action is not None:
            seen[action.name].append((dict(arguments), tally))
    by_type = TypeHierarchy(domain.types).objects_by_type(tuple(objects))
    count = sum(each.count for each in tallies.values())
    actions = [
        LearnedAction(action, apart.get(name, ()), seen[name], learning, f"{learning.seed} {count} {name}")
        for name, action in domain.actions.items()
    ]
    return replace(domain, actions={each.declared.name: each.action(by_type) for each in actions})


def _find_told_apart(domain: DomainModel, learning: Learning) -> Iterable[tuple[Action, tuple[str, ...]]]:
    """Yield the actions with parameters that are told apart; raises `InputError` for unknown parameters."""
    for name, wanted in learning.by.items():
        action = resolve_action(domain, name)
        known = [each.name.removeprefix("?") for each in action.parameters]
        for each in wanted:
            if each not in known:
                hint = did_you_mean(each, known) or f"it has {', '.join(known) or 'none'}"
                raise InputError(f"{action.signature} has no parameter {each!r} to tell apart", hint=hint)
        yield action, tuple([each for each in known if each in wanted])


def _find_action(domain: DomainModel, name: str) -> Action | None:
    """Return the action called `name`; None where the domain no longer has it."""
    try:
        return resolve_action(domain, name)
    except InputError:
        return None


Key = tuple[str, tuple[tuple[str, str], ...]]
"""An action, and its objects by parameter."""
What = TypeVar("What", DomainModel, AnyProblem)


class Experience:
    """Tallies of attempts, and how to apply them; empty at first.

    Threads may share one.
    """

    def __init__(self, learning: Learning | None = None) -> None:
        self.learning = learning or Learning()
        self._over: dict[Key, Tally] = {}
        self._done: set[tuple[str, float]] = set()
        """The runs that are over, of which everything was read, by name and time of creation."""
        self._live: dict[tuple[str, float], tuple[int, list[Trial]]] = {}
        """How many events of the other runs were read, and the trials in them."""
        self._lock = threading.Lock()

    def read(self, journal: RunHistory) -> Experience:
        """Read the new events of the runs in `journal`, and return self; raises `JournalError`."""
        with self._lock:
            for run in journal.runs():
                key = run.run, run.created
                if key in self._done or run.events == self._live.get(key, (0, []))[0]:
                    continue
                reader = AttemptReader()
                with contextlib.suppress(NoRunError):  # it is deleted at this moment: what was read counts
                    for entry in journal.read(run.run):
                        if entry.kind in READ:
                            reader.take(entry.kind, load_json(entry.data), entry.time)
                self._live[key] = run.events, reader.trials
                if run.status and RunStatus[run.status].is_over:
                    self._done.add(key)
                    for trial in self._live.pop(key)[1]:
                        _add_trial(self._over, trial)
        return self

    def add(self, trial: Trial) -> None:
        """Count an attempt that is in no journal."""
        with self._lock:
            _add_trial(self._over, trial)

    def tallies(self) -> dict[Key, Tally]:
        """Return the tallies of each action with the same objects."""
        with self._lock:
            found = {key: merge_tallies([tally]) for key, tally in self._over.items()}
            for _, trials in self._live.values():
                for trial in trials:
                    _add_trial(found, trial)
        return found

    def of(self, action: str, **objects: str) -> Tally:
        """Return the tally of the attempts at `action` with these `objects` for its parameters."""
        return merge_tallies(self._matching(action, objects))

    def __str__(self) -> str:
        actions = sorted({action for action, _ in self.tallies()})
        return "\n".join(f"{action}: {self.of(action)}" for action in actions) or "nothing was tried"

    def _matching(self, action: str, objects: Mapping[str, str]) -> Iterator[Tally]:
        for (name, arguments), tally in self.tallies().items():
            if name == action and objects.items() <= dict(arguments).items():
                yield tally

    def applied_to(self, what: What) -> What:
        """Apply what was learned to the actions of a domain, or of a problem's domain.

        Risks and probabilities of outcomes are rounded to 4 decimals; costs, seconds and tokens are running means,
        rounded to 6. An action keeps its declared cost where no handler ever reported a cost, or where the cost is
        computed from the arguments. Raises `InputError` for unknown parameters to tell apart.
        """
        found: What = apply_tallies(what, self.tallies(), self.learning)
        return found


def learn(journal: RunHistory | DatabaseAddress | Path | str, learning: Learning | None = None) -> Experience:
    """Learn from the runs in `journal`, an open one, a file, or the address of a database; raises `JournalError`.

    `executor.learning.attempts` says how attempts count; the result's `read` adds later ones.
    """
    if not isinstance(journal, str | Path | DatabaseAddress):
        return Experience(learning).read(journal)
    with open_journal(journal) as opened:
        return Experience(learning).read(opened)


def _add_trial(tallies: dict[Key, Tally], trial: Trial) -> None:
    tallies.setdefault((trial.action, trial.arguments), Tally()).add(trial)


OPTIMISTIC: Final = Learning(explore="optimistic")
"""The default of runs that learn: optimistic, so that they try actions that may be better."""
LearnedFrom = bool | Learning | Experience
"""Whether planning uses earlier runs: those in the journal, by certain rules, or a given experience."""


@dataclass(slots=True)
class Pricing:
    """Applies `experience`, updated from the `journal`, to the problems of searches."""

    experience: Experience
    journal: RunHistory | None = None

    @classmethod
    def of(cls, learned: Any, journal: RunHistory | None) -> Pricing | None:
        """Make the pricing for the option `learned`; None for False. Raises `InputError` for other values."""
        if learned is False:
            return None
        if isinstance(learned, Experience):
            return cls(learned, journal)
        if not isinstance(learned, bool | Learning):
            hint = "True or False, a Learning, or an Experience"
            raise InputError(f"{learned!r} does not say what is learned", hint=hint)
        if journal is None:
            raise InputError("what runs have shown is learned from a journal", hint="Executor(world, 'runs.db', …)")
        return cls(Experience(learned if isinstance(learned, Learning) else OPTIMISTIC), journal)

    def apply_experience(self, problem: Any) -> Any:
        """Apply the learned risks, outcomes and costs to `problem`; raises `JournalError` and `InputError`."""
        if self.journal is not None:
            self.experience.read(self.journal)
        return self.experience.applied_to(problem)

    def apply_durations(self, problem: Problem) -> Problem:
        """Apply the learned durations alone to `problem`; raises as `apply_experience`."""
        found: Problem = self.apply_experience(problem)
        learned, declared = found.domain.actions, problem.domain.actions
        actions = {name: replace(each, duration=learned[name].duration) for name, each in declared.items()}
        return replace(problem, domain=replace(problem.domain, actions=actions))

    def apply_expected_costs(self, problem: Any) -> Any:
        """Replace action costs by the expected costs until the intended outcome; raises as `apply_experience`."""
        found = self.apply_experience(problem)
        if isinstance(found, Problem):
            return expected_costs(found)
        if not is_other_problem(found):
            return found
        classical = expected_costs(found.classical)
        whole: Any = found
        return replace(whole, domain=replace(whole.domain, classical=classical.domain), classical=classical)
