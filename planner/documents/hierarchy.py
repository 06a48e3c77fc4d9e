"""Documents with tasks and methods: their syntax is in the schema, and another package makes models of them.

The entry point `tasks` of the group `forethought.documents` leads to a module with the functions of `Hierarchies`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Protocol

from planner.declare.places import Place
from planner.errors import UnsupportedError
from planner.kinds import AnyDomain, Named, OtherDomain, OtherProblem
from planner.model import DomainModel

if TYPE_CHECKING:
    from planner.documents.schema import DomainDocument, ProblemDocument

GROUP: Final = "forethought.documents"


class Hierarchies(Protocol):
    """What makes models of documents with tasks and methods, and documents of models."""

    def domain_of(self, document: DomainDocument, classical: DomainModel, place: Place) -> OtherDomain:
        """Return the domain, whose classical part is made already; raises `DocumentError` at the first mistake."""

    def problem_of(self, document: ProblemDocument, domain: AnyDomain, place: Place) -> OtherProblem:
        """Return the problem; raises `DocumentError` at the first mistake."""

    def documents_of(self, item: Named, *, domain: bool) -> list[dict[str, Any]]:
        """Return a domain, or a problem with its domain or without, as plain data; raises `UnsupportedError`."""


def hierarchies(what: str) -> Hierarchies:
    """Return what reads and writes hierarchies; raises `UnsupportedError` for `what` where nothing installed does."""
    from importlib.metadata import entry_points  # noqa: PLC0415 - looking around takes time

    for entry in entry_points(group=GROUP, name="tasks"):
        found: Hierarchies = entry.load()
        return found
    raise UnsupportedError(f"{what} in a document", "install all packages of forethought")
