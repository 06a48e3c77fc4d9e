"""What is known about the small problems: optima, plans, and plans that fail, with the reason."""

from domains.household.instances import blocked, written
from htn.testing import HtnCase

TO_KITCHEN = "walk(parlour, hall)\nwalk(hall, kitchen)\n"
TO_PARLOUR = "walk(kitchen, hall)\nwalk(hall, parlour)\n"

SUPPER = f"""
walk(hall, parlour)
take(plate, parlour)
{TO_KITCHEN}wash(plate, kitchen)
{TO_PARLOUR}set-down(plate, parlour)
{TO_KITCHEN}take(book, kitchen)
{TO_PARLOUR}put(book, parlour)
"""

GUESTS = f"""
take(plate, kitchen)
wash(plate, kitchen)
{TO_PARLOUR}set-down(plate, parlour)
take(bowl, parlour)
{TO_KITCHEN}wash(bowl, kitchen)
{TO_PARLOUR}set-down(bowl, parlour)
walk(parlour, hall)
take(cup, hall)
walk(hall, parlour)
set-down(cup, parlour)
{TO_KITCHEN}take(book, kitchen)
walk(kitchen, hall)
put(book, hall)
"""

CASES = (
    HtnCase(
        "supper",
        written("supper"),
        28,
        valid=(SUPPER,),
        invalid=(
            (SUPPER.replace("wash(plate, kitchen)\n", ""), "not dirty(plate)"),
            (SUPPER.replace("walk(hall, parlour)\ntake", "take"), "at(parlour)"),
            (SUPPER.replace("put(book, parlour)", ""), "no decomposition of the tasks gives these steps"),
            (f"{SUPPER}walk(parlour, hall)", "no decomposition of the tasks gives these steps"),
        ),
    ),
    HtnCase(
        "guests",
        written("guests"),
        26,
        valid=(GUESTS,),
        invalid=(
            (GUESTS.replace("set-down(bowl, parlour)", ""), "hand-empty"),
            (GUESTS.replace("put(book, hall)", f"{TO_PARLOUR}put(book, parlour)"), "at(kitchen)"),
        ),
    ),
    HtnCase("no door leads to the sink", blocked(), None),
)
