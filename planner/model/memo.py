"""What follows from a domain alone, worked out once for each and kept with it.

A domain of ten thousand actions is searched again and again, for one goal after the other.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

from planner.annotations import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from planner.model.domain import DomainModel

Found = TypeVar("Found")


class Memo(dict[Any, Any]):
    """What functions have found out about a domain, by function; copies and pickles of it start empty."""

    def __reduce__(self) -> tuple[type[Memo], tuple[()]]:
        return Memo, ()


def kept_with_domain(function: Callable[[DomainModel], Found]) -> Callable[[DomainModel], Found]:
    """Return `function`, which reads nothing but the domain, as one that works everything out only once."""

    @functools.wraps(function)
    def once(domain: DomainModel) -> Found:
        memo = domain.memo
        if function not in memo:
            memo[function] = function(domain)
        found: Found = memo[function]
        return found

    return once
