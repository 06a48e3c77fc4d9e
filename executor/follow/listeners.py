"""Those who follow runs: what they do changes nothing in them.

A listener is a function that is told every event of every run. A follower begins anew with each run, and knows which
one it is told about: its `follow(state, run)` gives a context manager, whose value is the listener for that run.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Protocol, runtime_checkable

from executor.record.events import Event
from executor.record.state import RunState
from executor.world.containment import log_failure, shown
from planner.budget import Alarm

Listener = Callable[[Event], None]
_log = logging.getLogger(__name__)


@runtime_checkable
class Follower(Protocol):
    """Gives each run a listener of its own."""

    def follow(self, state: RunState, run: str) -> AbstractContextManager[Listener]:
        """Return the listener for the run with the id `run`, left when nobody drives it any more.

        `state` is that of the run: a listener finds in it what has happened, the event that it is told included.
        """
        ...


class Audience:
    """Who is told what happens in one run. Whoever raises is told no more: a line in the log says so."""

    def __init__(self, following: Iterable[Listener | Follower]) -> None:
        self._following = tuple(following)
        self._listeners: list[Listener] = [each for each in self._following if not isinstance(each, Follower)]

    def add(self, listener: Listener) -> None:
        """Have everything that happens from now on told to `listener`."""
        self._listeners.append(listener)

    def tell(self, event: Event) -> None:
        """Tell everybody."""
        for listener in tuple(self._listeners):
            try:
                listener(event)
            except (KeyboardInterrupt, Alarm):
                raise
            except BaseException as error:  # noqa: BLE001 - whatever it raises, the run goes on
                self._listeners = [each for each in self._listeners if each is not listener]
                told = "%s failed at %s, and is told no more about this run"
                log_failure(_log, told, shown(listener), type(event).__name__, error=error)

    @contextmanager
    def at(self, state: RunState, run: str) -> Iterator[None]:
        """Have the followers at the run while the body lasts."""
        with ExitStack() as followed:
            for each in self._following:
                if isinstance(each, Follower):
                    self._enter(each, state, run, followed)
            yield

    def _enter(self, follower: Follower, state: RunState, run: str, followed: ExitStack) -> None:
        try:
            manager = follower.follow(state, run)
            self._listeners.append(manager.__enter__())
        except (KeyboardInterrupt, Alarm):
            raise
        except BaseException as error:  # noqa: BLE001 - as above
            log_failure(_log, "%s cannot follow run %s", shown(follower), run, error=error)
        else:
            followed.callback(_leave, manager, follower, run)


def _leave(manager: AbstractContextManager[Listener], follower: Follower, run: str) -> None:
    try:
        manager.__exit__(None, None, None)
    except (KeyboardInterrupt, Alarm):
        raise
    except BaseException as error:  # noqa: BLE001 - as above
        log_failure(_log, "%s failed at the end of run %s", shown(follower), run, error=error)
