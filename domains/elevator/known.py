"""What is known about the small problems: optima, plans, and plans that fail, with the reason."""

from domains.elevator.instances import waiting_together, written
from planner.testing import Case

TWO_GUESTS = """
open-doors(slow, ground)
go-up(slow, ground, first)
go-up(slow, first, second)
open-doors(slow, second)
return(slow, second, ground)
open-doors(slow, ground)
"""

QUARREL = """
open-doors(slow, ground)
go-up(slow, ground, first)
go-up(slow, first, second)
open-doors(slow, second)
go-up(slow, second, third)
open-doors(slow, third)
go-down(slow, third, second)
go-down(slow, second, first)
open-doors(slow, first)
go-up(slow, first, second)
go-up(slow, second, third)
open-doors(slow, third)
"""

CASES = (
    Case(
        "two-guests",
        written("two-guests"),
        10,
        valid=(
            TWO_GUESTS,
            TWO_GUESTS.replace(
                "return(slow, second, ground)", "go-down(slow, second, first)\ngo-down(slow, first, ground)"
            ),
        ),
        invalid=(
            (TWO_GUESTS.replace("open-doors(slow, second)", ""), "arrived(ada)"),
            (TWO_GUESTS.replace("return(slow, second, ground)", "return(slow, second, first)"), "lobby(first)"),
            (TWO_GUESTS.replace("go-up(slow, ground, first)", "go-up(slow, ground, second)"), "next(ground, second)"),
        ),
    ),
    Case(
        "quarrel",
        written("quarrel"),
        19,
        valid=(QUARREL,),
        invalid=(
            (
                QUARREL.replace("go-up(slow, first, second)", "open-doors(slow, first)\ngo-up(slow, first, second)"),
                "tense",
            ),
            (QUARREL.replace("go-up(slow, ground, first)", "return(slow, ground, ground)"), "above(ground, ground)"),
        ),
    ),
    Case(
        "who quarrels waits at the same door",
        waiting_together(),
        None,
        invalid=(("open-doors(slow, ground)\ngo-up(slow, ground, first)", "not tense(slow)"),),
    ),
)
