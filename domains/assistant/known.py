"""What is known about the small problems: optima, plans, and plans that fail, with the reason."""

from domains.assistant.instances import one_page, with_chart
from planner.testing import Case

ONE_PAGE = """
search_web(heating)
fetch(survey, heating)
summarise(survey)
write_report(memo)
proofread(memo)
look_up_address(ada)
ask_approval(memo, ada)
look_up_address(board)
send(memo, board)
"""

READING = """
search_web(heating)
fetch(survey, heating)
recall(prices)
summarise(survey)
summarise(prices)
extract_figures(prices)
draw_chart(trend, prices)
write_report(memo)
look_up_address(ada)
look_up_address(board)
"""

CASES = (
    Case(
        "one-page",
        one_page(),
        22,
        valid=(ONE_PAGE,),
        invalid=(
            (ONE_PAGE.replace("search_web(heating)", ""), "found(heating)"),
            (ONE_PAGE.replace("proofread(memo)", ""), "proofread(memo)"),
            (ONE_PAGE.replace("ask_approval(memo, ada)", "ask_approval(memo, board)"), "responsible(board, memo)"),
            (ONE_PAGE.replace("proofread(memo)", "proofread(memo)\nwrite_report(memo)"), "retracted by step 6"),
            (ONE_PAGE.replace("send(memo, board)", ""), "the goal requires sent(memo, board)"),
        ),
    ),
    Case(
        "with-chart",
        with_chart(),
        33,
        valid=(
            READING + "insert_chart(memo, trend, prices)\nproofread(memo)\nask_approval(memo, ada)\n"
            "send(memo, ada)\nsend(memo, board)",
        ),
        invalid=(
            (
                READING + "proofread(memo)\nask_approval(memo, ada)\ninsert_chart(memo, trend, prices)\n"
                "send(memo, ada)\nsend(memo, board)",
                "approved(memo), which was retracted by step 13 insert_chart(memo, trend, prices)",
            ),
            (READING.replace("summarise(prices)", ""), "summarised(prices)"),
        ),
    ),
    Case(
        "nobody answers for the memo",
        one_page(responsible=False),
        None,
        invalid=((ONE_PAGE, "responsible(ada, memo)"),),
    ),
)
