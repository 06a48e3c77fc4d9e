"""What is known about the small problems: optima, plans, and plans that fail, with the reason."""

from domains.stacking.instances import written, yard
from planner.testing import Case

SWAP = """
restack(red, blue, middle)
restack(blue, left, right)
restack(red, middle, left)
restack(blue, right, red)
"""

TOWER = """
restack(small, medium, right)
restack(medium, large, middle)
restack(small, right, medium)
restack(large, left, right)
restack(small, medium, left)
restack(medium, middle, large)
restack(small, left, medium)
"""

CASES = (
    Case(
        "swap",
        written("swap"),
        6,
        valid=(SWAP,),
        invalid=(
            (SWAP.replace("restack(red, blue, middle)", ""), "clear(blue)"),
            (SWAP.replace("blue, right, red", "blue, right, middle"), "on(blue, red)"),
            ("restack(red, blue, red)", "bears(red, red)"),
        ),
    ),
    Case(
        "tower",
        written("tower"),
        12,
        valid=(TOWER,),
        invalid=(
            (TOWER.replace("large, left, right", "large, left, medium"), "clear(medium)"),
            (
                "restack(small, medium, right)\nrestack(medium, large, small)",
                "bears(small, medium)",
            ),
        ),
    ),
    Case(
        "no room to turn two boxes round",
        yard(["ground"], [["heavy", "light"]], [["light", "heavy"]], {"heavy": 2, "light": 1}),
        None,
        invalid=(("restack(light, heavy, ground)", "clear(ground)"),),
    ),
)
