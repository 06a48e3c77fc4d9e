"""Ask a language model in an event loop of its own: connections outlive other loops, and virtual time waits."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import CancelledError
from typing import Any, Self

from executor.language_model.protocol import LanguageModel, Reply, Request


async def _cancel_all() -> None:
    """Cancel what is still asked, and wait until it has ended."""
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)


class ThreadedModel:
    """`model`, asked in a thread that has its own event loop; close it, or use it with `with`.

    Make it before a loop in virtual time begins: that waits for each answer, and not for this thread.
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
        """Whether it is known what the model's calls cost."""
        return getattr(self.model, "is_priced", True) is True

    @property
    def prices(self) -> tuple[float, float] | None:
        """What a million tokens of the model cost, read and written, where it says so."""
        return getattr(self.model, "prices", None)

    @property
    def retries(self) -> int:
        """How often the model is asked again where a call fails for a reason that may pass."""
        return getattr(self.model, "retries", 0)

    @property
    def patience(self) -> float | None:
        """The seconds that one answer of the model may take, where it says so."""
        return getattr(self.model, "patience", None)

    async def answer(self, request: Request) -> Reply:
        """Return what the model says."""
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
