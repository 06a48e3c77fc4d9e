"""`learn(journal)`: what the runs in a journal have shown of actions."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TypeVar

from executor.errors import NoRunError
from executor.journal import Journal
from executor.learning.applying import applied
from executor.learning.options import Learning
from executor.learning.tallies import Tally, together
from executor.learning.trials import READ, Reader, Trial
from executor.record.status import RunStatus
from executor.world.data import loaded
from planner.kinds import AnyProblem
from planner.model import DomainModel

Key = tuple[str, tuple[tuple[str, str], ...]]
"""An action, and its objects by parameter."""
What = TypeVar("What", DomainModel, AnyProblem)


class Experience:
    """What attempts at actions have come to, and how much is made of it; empty to begin with.

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

    def read(self, journal: Journal) -> Experience:
        """Take in what was not read before of the runs in `journal`, and return this; raises `JournalError`."""
        with self._lock:
            for run in journal.runs():
                key = run.run, run.created
                if key in self._done or run.events == self._live.get(key, (0, []))[0]:
                    continue
                reader = Reader()
                with contextlib.suppress(NoRunError):  # it is deleted at this moment: what was read counts
                    for entry in journal.read(run.run):
                        if entry.kind in READ:
                            reader.take(entry.kind, loaded(entry.data))
                self._live[key] = run.events, reader.trials
                if run.status and RunStatus[run.status].is_over:
                    self._done.add(key)
                    for trial in self._live.pop(key)[1]:
                        _add(self._over, trial)
        return self

    def add(self, trial: Trial) -> None:
        """Take in an attempt that no journal knows."""
        with self._lock:
            _add(self._over, trial)

    def tallies(self) -> dict[Key, Tally]:
        """Return what the attempts at each action with the same objects come to."""
        with self._lock:
            found = {key: together([tally]) for key, tally in self._over.items()}
            for _, trials in self._live.values():
                for trial in trials:
                    _add(found, trial)
        return found

    def of(self, action: str, **objects: str) -> Tally:
        """Return what the attempts at `action` come to, those with these `objects` for its parameters."""
        return together(self._matching(action, objects))

    def __str__(self) -> str:
        actions = sorted({action for action, _ in self.tallies()})
        return "\n".join(f"{action}: {self.of(action)}" for action in actions) or "nothing was tried"

    def _matching(self, action: str, objects: Mapping[str, str]) -> Iterator[Tally]:
        for (name, arguments), tally in self.tallies().items():
            if name == action and objects.items() <= dict(arguments).items():
                yield tally

    def applied_to(self, what: What) -> What:
        """Return a domain, or a problem with its domain, in which actions have what was seen of them.

        Risks and probabilities of outcomes are rounded to 4 decimals; costs, seconds and tokens are running means,
        rounded to 6. An action keeps its declared cost where no handler has ever said what it costs, or where it is
        computed from the arguments. Raises `InputError` for parameters to tell apart that there are not.
        """
        found: What = applied(what, self.tallies(), self.learning)
        return found


def learn(journal: Journal | Path | str, learning: Learning | None = None) -> Experience:
    """Return what the runs in `journal`, a file or an open one, have shown; raises `JournalError`.

    What is tried, and came out, is counted as `executor.learning.trials` says; `read` takes in what comes later.
    """
    if isinstance(journal, Journal):
        return Experience(learning).read(journal)
    with Journal(journal) as opened:
        return Experience(learning).read(opened)


def _add(tallies: dict[Key, Tally], trial: Trial) -> None:
    tallies.setdefault((trial.action, trial.arguments), Tally()).add(trial)
