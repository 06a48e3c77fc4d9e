"""Plans in the competition's format as bare words, for validators that share no code with ours."""

from __future__ import annotations

import re

Steps = list[tuple[str, ...]]


def plan_steps(text: str) -> Steps:
    """Return the steps `(action, argument, …)` of a plan in the competition's format, in lower case."""
    lines = (line.partition(";")[0].strip().lower() for line in text.splitlines())
    return [tuple(re.findall(r"[^\s()]+", line)) for line in lines if line]
