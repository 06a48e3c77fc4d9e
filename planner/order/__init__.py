"""What depends on what in a plan: causal links, the partial order that they justify, and why each step is there."""

from planner.order.links import CausalLink, causal_links, purposes
from planner.order.partial import partial_order
from planner.order.timing import Schedule, makespan, schedule, starts

__all__ = ["CausalLink", "Schedule", "causal_links", "makespan", "partial_order", "purposes", "schedule", "starts"]
