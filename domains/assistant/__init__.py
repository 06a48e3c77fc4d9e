"""A research-and-report assistant: it searches, reads, summarises, draws charts, writes reports and sends them.

Declared in Python. What it shows: items changed in place (`modifies`) that make approvals stale, quantified conditions,
data parameters that flow from step to step, and tags that tell an executor where to be careful.
"""

from domains.assistant.declarations import domain
from domains.assistant.instances import generate, problems

__all__ = ["domain", "generate", "problems"]
