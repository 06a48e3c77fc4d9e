"""Language models: asked in one way, and everything that they say checked before it counts.

Running plans never imports this: `executor.agent` puts the two together.
"""

from executor.language_model.checked_answers import CheckedAnswer, ask_checked
from executor.language_model.protocol import (
    Allowance,
    Answer,
    Failed,
    LanguageModel,
    Meter,
    Origin,
    Part,
    Purpose,
    Reply,
    Request,
    Usage,
)

__all__ = [
    "Allowance",
    "Answer",
    "CheckedAnswer",
    "Failed",
    "LanguageModel",
    "Meter",
    "Origin",
    "Part",
    "Purpose",
    "Reply",
    "Request",
    "Usage",
    "ask_checked",
]
