"""Language models: one interface, with answers that are checked before use.

Running a plan never imports this package: `executor.agent` connects the two.
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

# fmt: off
__all__ = [
    "Allowance", "Answer", "CheckedAnswer", "Failed", "LanguageModel", "Meter", "Origin", "Part", "Purpose",
    "Reply", "Request", "Usage", "ask_checked",
]
# fmt: on
