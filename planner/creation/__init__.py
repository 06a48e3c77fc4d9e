"""Objects that do not exist yet: planning with placeholders for what actions create.

An action with `creates={"ticket": Ticket}` has the placeholder of the ticket as one argument more:
`create_ticket(alice, new-ticket-1)`. What is here compiles a problem with such actions to one without, in the terms of
the model alone, so that the plan checker, which shares nothing with grounding and search, can use it as search does.
"""

from planner.creation.placeholders import (
    created_by,
    declared_arguments,
    for_steps,
    refuse_creation,
    with_placeholders,
)

__all__ = ["created_by", "declared_arguments", "for_steps", "refuse_creation", "with_placeholders"]
