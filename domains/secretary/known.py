"""What is known about the small problems: optima, plans, and plans that fail, with the reason."""

from domains.secretary.instances import in_the_way, one_meeting
from planner.testing import Case

ONE_MEETING = """
read_calendar(ada)
read_calendar(ben)
book(budget, ten, office)
invite(budget, ten, office)
set_reminder(budget, ten, phone, loud)
change_mode(phone, loud, silent)
"""

IN_THE_WAY = """
read_calendar(ada)
read_calendar(ben)
read_calendar(cleo)
cancel(lunch, noon, hall)
book(lunch, one, hall)
book(budget, noon, hall)
invite(lunch, one, hall)
invite(budget, noon, hall)
change_mode(phone, silent, loud)
set_reminder(budget, noon, phone, loud)
change_mode(phone, loud, silent)
"""

CASES = (
    Case(
        "one-meeting",
        one_meeting(),
        7,
        valid=(ONE_MEETING,),
        invalid=(
            (ONE_MEETING.replace("read_calendar(ben)", ""), "calendar_read(ben)"),
            (ONE_MEETING.replace("ten", "nine"), "not busy(ben, nine)"),
            (ONE_MEETING.replace("phone, loud)", "phone, silent)"), "set(phone, silent)"),
            (
                ONE_MEETING.replace("invite", "change_mode(phone, loud, silent)\ninvite"),
                "set(phone, loud), which was retracted by step 4 change_mode(phone, loud, silent)",
            ),
        ),
    ),
    Case(
        "in-the-way",
        in_the_way(),
        16,
        valid=(IN_THE_WAY,),
        invalid=(
            (IN_THE_WAY.replace("invite(lunch, one, hall)", ""), "invited(lunch), which was retracted by step 4"),
            (IN_THE_WAY.replace("cancel(lunch, noon, hall)", ""), "pending(lunch)"),
            (
                IN_THE_WAY.replace("cancel(lunch, noon, hall)", "change_room(lunch, noon, hall, office)")
                .replace("book(lunch, one, hall)", "")
                .replace("lunch, one, hall", "lunch, noon, office"),
                "not busy(ada, noon)",
            ),
        ),
    ),
    Case("ben has no time", one_meeting(busy=("nine", "ten")), None, invalid=((ONE_MEETING, "not busy(ben, ten)"),)),
)
