"""Language models: asked in one way, and everything that they say checked before it counts.

Running plans never imports this: `executor.agent` puts the two together.
"""

from executor.language.allowance import Allowance, Meter
from executor.language.checked import Answered, answered
from executor.language.protocol import Answer, Failed, LanguageModel, Origin, Part, Purpose, Reply, Request, Usage

__all__ = [
    "Allowance",
    "Answer",
    "Answered",
    "Failed",
    "LanguageModel",
    "Meter",
    "Origin",
    "Part",
    "Purpose",
    "Reply",
    "Request",
    "Usage",
    "answered",
]
