"""What is known about the small problems: optima, plans, and plans that fail, with the reason."""

from domains.travel.instances import board, couple, full
from htn.testing import HtnCase


def leg(way: str, who: str, origin: str, target: str) -> str:
    """Return the steps of one leg, by train or by air."""
    book, go = ("book_train", "ride") if way == "train" else ("book_flight", "fly")
    return f"{book}({who}, {origin}, {target})\n{go}({who}, {origin}, {target})\n"


HOTEL = "book_room(ada, palace)\nstay_in(ada, palace, nice)\n"
HOME = leg("train", "ada", "nice", "lyon") + leg("train", "ada", "lyon", "bern")
BOARD = leg("air", "ada", "bern", "nice") + HOTEL + "meet(ada, board, nice)\n" + HOME
BY_TRAIN = leg("train", "ada", "bern", "lyon") + leg("train", "ada", "lyon", "nice") + "meet(ada, board, nice)\n" + HOME

COUPLE = (
    leg("air", "ada", "bern", "nice")
    + leg("air", "ben", "bern", "nice")
    + HOTEL
    + "stay_with_friend(ben, nice)\nmeet(ben, board, nice)\nmeet(ada, board, nice)\n"
    + leg("train", "ada", "nice", "bern")
    + leg("train", "ben", "nice", "bern")
)

CASES = (
    HtnCase(
        "board",
        board(),
        20,
        valid=(BOARD, BY_TRAIN),
        invalid=(
            (BOARD.replace(HOTEL, ""), "rested(ada), which was retracted by step 2 fly(ada, bern, nice)"),
            (BOARD.replace(HOME, leg("air", "ada", "nice", "bern")), "at the end, the goal requires rested(ada)"),
            (BOARD.replace("book_room(ada, palace)\n", ""), "room(ada, palace)"),
            (BY_TRAIN + HOTEL, "at(ada, nice)"),
        ),
    ),
    HtnCase(
        "couple",
        couple(),
        44,
        valid=(COUPLE,),
        invalid=(
            (COUPLE.replace("stay_with_friend(ben, nice)", "book_room(ben, palace)"), "vacant(palace)"),
            (COUPLE.replace("meet(ben, board, nice)", ""), "no decomposition of the tasks gives these steps"),
        ),
    ),
    HtnCase("no bed where the meeting is", full(), None),
)
