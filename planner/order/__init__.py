"""What depends on what in a plan: causal links, the partial order that they justify, and why each step is there."""

from planner.order.links import CausalLink, causal_links, purposes
from planner.order.partial import partial_order

__all__ = ["CausalLink", "causal_links", "partial_order", "purposes"]
