"""What is known about the small problems: optima, plans, and plans that fail, with the reason."""

from domains.courier.instances import building, one_parcel, two_robots
from planner.testing import Case

ONE_PARCEL = """
move(r2, office, hall)
move(r2, hall, lab)
pick_up(r2, r2-tray1, sample, lab)
move(r2, lab, hall)
move(r2, hall, office)
put_down(r2, r2-tray1, sample, office)
"""

ALONE = """
pick_up(r1, r1-tray1, letter, dock)
move(r1, dock, hall)
move(r1, hall, office)
put_down(r1, r1-tray1, letter, office)
move(r1, office, hall)
move(r1, hall, dock)
pick_up(r1, r1-tray1, crate, dock)
move(r1, dock, hall)
move(r1, hall, lab)
put_down(r1, r1-tray1, crate, lab)
"""

RELAY = """
pick_up(r1, r1-tray1, letter, dock)
move(r1, dock, hall)
put_down(r1, r1-tray1, letter, hall)
pick_up(r2, r2-tray1, letter, hall)
move(r2, hall, office)
put_down(r2, r2-tray1, letter, office)
move(r1, hall, dock)
pick_up(r1, r1-tray1, crate, dock)
move(r1, dock, hall)
move(r1, hall, lab)
put_down(r1, r1-tray1, crate, lab)
"""

APART = """
pick_up(r1, r1-tray1, crate, dock)
move(r1, dock, hall)
move(r1, hall, lab)
put_down(r1, r1-tray1, crate, lab)
move(r2, hall, dock)
pick_up(r2, r2-tray1, letter, dock)
move(r2, dock, hall)
move(r2, hall, office)
put_down(r2, r2-tray1, letter, office)
"""

CASES = (
    Case(
        "one-parcel",
        one_parcel(),
        12,
        valid=(ONE_PARCEL,),
        invalid=(
            (ONE_PARCEL.replace("move(r2, hall, lab)", ""), "at(r2, lab)"),
            (ONE_PARCEL.replace("move(r2, office, hall)", "move(r2, office, lab)"), "corridor(office, lab)"),
            (ONE_PARCEL.replace("put_down", "pick_up"), "lies(sample, office)"),
            (ONE_PARCEL.replace("move(r2, hall, office)\nput", "put"), "at(r2, office)"),
        ),
    ),
    Case(
        "two-robots",
        two_robots(),
        20,
        valid=(APART, RELAY, ALONE),
        invalid=(
            ("pick_up(r1, r1-tray1, crate, dock)" + RELAY, "empty(r1-tray1), which was retracted by step 1"),
            (RELAY.replace("put_down(r1, r1-tray1, letter, hall)", ""), "lies(letter, hall)"),
            (ALONE.replace("put_down(r1, r1-tray1, letter, office)", ""), "empty(r1-tray1)"),
        ),
    ),
    Case(
        "a room that no corridor leads to",
        building("island", {("hall", "office"): 1, ("lab", "store"): 1}, {"r2": ("hall", 1)}, {"box": ("hall", "lab")}),
        None,
        invalid=(("move(r2, hall, lab)", "corridor(hall, lab)"),),
    ),
)
