"""What is known about the small problems: optima, plans, and plans that fail, with the reason."""

from domains.tools.instances import one_question, thrift
from planner.testing import Case

PAID = """
buy_key(bank)
call(bank, rates)
ask_large_model(rates)
check(rates)
report()
"""

SCRAPED = """
scrape(forum, rates)
ask_small_model(rates)
check(rates)
report()
"""

THRIFT = """
buy_key(bank)
call(bank, rates)
call(bank, wages)
call(office, taxes)
ask_small_model(rates)
ask_small_model(taxes)
ask_small_model(wages)
check(rates)
check(taxes)
check(wages)
report()
"""

CASES = (
    Case(
        "one-question",
        one_question(),
        5,
        valid=(PAID, SCRAPED),
        invalid=(
            (PAID.replace("buy_key(bank)", ""), "key(bank)"),
            (PAID.replace("check(rates)", ""), "answered"),
            (SCRAPED.replace("check", "ask_small_model(rates)\ncheck(rates)\nask_small_model(rates)\ncheck"), "tokens"),
        ),
    ),
    Case(
        "thrift",
        thrift(),
        14,
        valid=(THRIFT,),
        invalid=(
            (THRIFT.replace("ask_small_model(rates)", "ask_large_model(rates)"), "money"),
            (THRIFT.replace("report()", "ask_expert(wages)\nreport()"), "money"),
            (THRIFT.replace("check(wages)", ""), "answered"),
        ),
    ),
    Case(
        "there is no money for the bank",
        one_question(money=5),
        6,
        valid=(SCRAPED, SCRAPED.replace("small", "large")),
        invalid=((PAID, "money"),),
    ),
    Case("there are too few tokens", one_question(tokens=3), None, invalid=((SCRAPED, "tokens"),)),
    Case("nobody knows", one_question(served=False), None, invalid=((PAID, "serves(bank, rates)"),)),
)
