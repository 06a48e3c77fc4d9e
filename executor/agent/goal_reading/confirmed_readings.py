"""Confirmed readings of sentences, kept so that no model is asked again.

A reading is reused if the request to the model would be the same, except for spaces: the sentence, all objects, facts
and actions, the state, and no earlier conversation. It is checked and confirmed like a fresh answer.
"""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path
from typing import Final

from pydantic import ValidationError

from executor.agent.goal_reading.goal_problem import Meanings
from executor.language_model.protocol import Origin, Request, Usage
from planner.lightweight import dataclass
from planner.reuse.text_store import Store

CAPACITY: Final = 1000


@dataclass(frozen=True, slots=True)
class Remembered:
    """The readings of a sentence, and the usage of the model for them."""

    meanings: Meanings
    usage: Usage


class Readings:
    """Confirmed readings; beyond `capacity`, the least recently used are forgotten.

    With a `path`, they are kept in that file, which may be that of a `PlanCache`. `hits` and `misses` count sentences,
    `saved` is the usage that reuse saved. Raises `InputError` for a file with other contents.
    """

    def __init__(self, path: str | Path | None = None, *, capacity: int = CAPACITY) -> None:
        self.hits = self.misses = 0
        self.saved = Usage()
        self._store = Store(path, "readings", capacity)

    def __len__(self) -> int:
        return len(self._store)

    def close(self) -> None:
        """Close the file, if there is one."""
        self._store.close()

    def get(self, key: str) -> Remembered | None:
        """Return the confirmed readings for `key`, if any."""
        text = self._store.get(key)
        try:
            data = {} if text is None else json.loads(text)
            found = Remembered(Meanings.model_validate(data["meanings"]), Usage(**data["usage"])) if data else None
        except (ValueError, ValidationError, KeyError, TypeError):
            found = None
        if found is None:
            self.misses += 1
        else:
            self.hits += 1
            self.saved += found.usage
        return found

    def keep(self, key: str, meanings: Meanings, usage: Usage) -> None:
        """Keep confirmed readings, and the usage of the model for them."""
        self._store.put(key, json.dumps({"meanings": meanings.model_dump(mode="json"), "usage": usage.to_dict()}))

    def forget(self, key: str) -> None:
        """Forget the readings for `key`, because a person has rejected them."""
        self._store.forget(key)


def key_of(request: Request) -> str:
    """Hash all that a model sees of `request`, except for spaces in the user's words."""
    parts = [
        (each.title, " ".join(each.text.split()) if each.origin is Origin.USER else each.text, each.origin.name)
        for each in request.parts
    ]
    return sha256(json.dumps([request.instructions, parts]).encode()).hexdigest()
