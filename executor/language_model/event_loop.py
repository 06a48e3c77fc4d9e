"""Ask a language model in an event loop of its own, so that connections outlive other loops and virtual time waits."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import CancelledError
from typing import Any, Self

from executor.language_model.protocol import LanguageModel, Reply, Request


async def _cancel_all() -> None:
    """Cancel all other tasks, and wait until they have ended."""
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)


class ThreadedModel:
    """Asks `model` in a thread with its own event loop; close it, or use it with `with`.

    Make it before a loop in virtual time begins: then that loop waits for answers, but not for the end of this thread.
    """

    def __init__(self, model: LanguageModel) -> None:
        self.model = model
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="language model", daemon=True)
        self._thread.start()

    @property
    def is_small(self) -> bool:
        """Whether the model is small."""
        return getattr(self.model, "is_small", False) is True

    @property
    def is_priced(self) -> bool:
        """Whether the prices of the model are known."""
        return getattr(self.model, "is_priced", True) is True

    @property
    def prices(self) -> tuple[float, float] | None:
        """The prices of a million tokens, read and written, if known."""
        return getattr(self.model, "prices", None)

    @property
    def retries(self) -> int:
        """How often to repeat a call that failed for a passing reason."""
        return getattr(self.model, "retries", 0)

    @property
    def patience(self) -> float | None:
        """Time limit of one answer in seconds, if the model has one."""
        return getattr(self.model, "patience", None)

    async def answer(self, request: Request) -> Reply:
        """Ask the model in its thread."""
        asked = asyncio.run_coroutine_threadsafe(self.model.answer(request), self._loop)

        def wait() -> Reply | None:
            try:
                return asked.result()
            except CancelledError:
                return None

        try:
            found = await asyncio.get_running_loop().run_in_executor(None, wait)
        finally:
            asked.cancel()
        if found is None:
            raise asyncio.CancelledError
        return found

    def close(self) -> None:
        """Close the model's connections, if it has any, and end the thread."""
        if self._loop.is_closed():
            return
        close: Any = getattr(self.model, "close", None)
        if close is not None:
            asyncio.run_coroutine_threadsafe(close(), self._loop).result()
        asyncio.run_coroutine_threadsafe(_cancel_all(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()
