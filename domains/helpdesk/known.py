"""What is known about the small problems: optima, plans, and plans that fail, with the reason."""

from domains.helpdesk.instances import new_account, outage
from planner.testing import Case

NEW_ACCOUNT = """
read_request(login)
open_ticket(login, ticket-1)
assign(ticket-1, login, wiki, office-it)
create_account(ada, wiki, ticket-1, login, office-it, account-1)
secure(account-1, ada)
hand_over(account-1, ada, wiki)
answer(login, ada, wiki, ticket-1)
close(ticket-1)
"""

OUTAGE = """
read_request(slow-mail)
open_ticket(slow-mail, ticket-1)
read_request(no-mail)
merge(no-mail, ticket-1, slow-mail, mail)
assign(ticket-1, slow-mail, mail, office-it)
repair(mail, ticket-1, slow-mail, office-it)
answer(slow-mail, ada, mail, ticket-1)
answer(no-mail, ben, mail, ticket-1)
close(ticket-1)
"""

CASES = (
    Case(
        "new-account",
        new_account(),
        12,
        valid=(NEW_ACCOUNT,),
        invalid=(
            (NEW_ACCOUNT.replace("open_ticket(login, ticket-1)", ""), "ticket-1"),
            (NEW_ACCOUNT.replace("secure(account-1, ada)", ""), "protected(account-1)"),
            (NEW_ACCOUNT.replace("close(ticket-1)", ""), "the goal requires"),
            (NEW_ACCOUNT.replace("answer(login", "close(ticket-1)\nanswer(login"), "close(ticket-1)"),
        ),
    ),
    Case(
        "outage",
        outage(),
        14,
        valid=(OUTAGE,),
        invalid=(
            (OUTAGE.replace("merge(no-mail, ticket-1, slow-mail, mail)", ""), "tracks(ticket-1, no-mail)"),
            (OUTAGE.replace("repair(mail, ticket-1, slow-mail, office-it)", ""), "not broken(mail)"),
            (OUTAGE.replace("assign(ticket-1, slow-mail, mail, office-it)", ""), "assigned(ticket-1, office-it)"),
        ),
    ),
    Case("nobody runs the wiki", new_account(team=None), None, invalid=((NEW_ACCOUNT, "office-it"),)),
)
