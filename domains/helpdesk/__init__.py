"""A help desk: it reads requests, opens tickets, assigns them, repairs, makes accounts, answers, and closes.

Declared in Python. What it shows: actions that create objects (`creates`), whose names are known only when they exist;
steps that need such an object, or make do with one that is there; and data that flows with it.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from functools import cache, partial
from typing import TYPE_CHECKING, Annotated

from planner.language.declare import FIXED, Domain, Entity, From
from planner.language.loading.load import LazyProblems
from planner.model import DomainModel, Problem

if TYPE_CHECKING:
    from planner.testing import Case


class Person(Entity):
    """Somebody who asks for help."""


class Request(Entity):
    """A mail or a call in which somebody asks for something."""


class System(Entity):
    """What people work with, and what fails."""


class Team(Entity):
    """The people who run some of the systems."""


class Ticket(Entity):
    """Where the work on requests is kept; the tracker gives it its number."""


class Account(Entity):
    """What somebody uses a system with; the system gives it its name."""


@cache
def domain() -> DomainModel:
    """Return the domain."""
    desk = Domain("helpdesk", description="Answer requests: open tickets, have things repaired, give access, close.")
    _declare_vocabulary(desk)
    _declare_tickets(desk)
    _declare_work(desk)
    _declare_answers(desk)
    return desk.model


def _declare_vocabulary(desk: Domain) -> None:
    desk.predicate("asked", person=Person, request=Request)
    desk.predicate("concerns", request=Request, system=System)
    desk.predicate("wants_access", request=Request, description="the request is for an account, not about a failure")
    desk.predicate("runs", team=Team, system=System)
    desk.predicate("broken", system=System)
    desk.predicate("tracks", ticket=Ticket, request=Request)
    desk.predicate("assigned", ticket=Ticket, team=Team)
    desk.predicate("belongs", account=Account, person=Person)
    desk.predicate("opens", account=Account, system=System, description="the account is one of the system")


def _declare_tickets(desk: Domain) -> None:
    desk.action(
        "read_request",
        {"request": Request},
        provides=["understood(request)"],
        tags=["read_only", "idempotent"],
        description="Read what somebody asks for.",
        similes=["look at mail", "listen to call"],
    )
    desk.action(
        "open_ticket",
        {"request": Request, "title": str},
        requires=["understood(request)"],
        provides=["open(ticket)", "tracks(ticket, request)"],
        creates={"ticket": Ticket},
        cost=2,
        description="Open a ticket for a request.",
        similes=["create ticket", "file issue"],
        examples=["open a ticket for the broken printer"],
    )
    desk.action(
        "merge",
        {"request": Request, "ticket": Ticket, "other": Request, "system": System},
        requires=[
            *["understood(request)", "concerns(request, system)", "not wants_access(request)", "request != other"],
            *["open(ticket)", "tracks(ticket, other)", "concerns(other, system)"],
        ],
        provides=["tracks(ticket, request)"],
        tags=["idempotent"],
        description="Add a report of a failure to an open ticket about the same system.",
        similes=["mark as duplicate", "link"],
    )
    desk.action(
        "assign",
        {"ticket": Ticket, "request": Request, "system": System, "team": Team},
        requires=["open(ticket)", "tracks(ticket, request)", "concerns(request, system)", "runs(team, system)"],
        provides=["assigned(ticket, team)"],
        modifies=["assigned(ticket, _)"],
        tags=["idempotent"],
        description="Give a ticket to the team that runs the system.",
        similes=["route", "hand to"],
    )


def _declare_work(desk: Domain) -> None:
    at_work = ["tracks(ticket, request)", "concerns(request, system)", "assigned(ticket, team)", "runs(team, system)"]
    desk.action(
        "repair",
        {"system": System, "ticket": Ticket, "request": Request, "team": Team},
        requires=[*at_work, "broken(system)"],
        provides=["not broken(system)"],
        cost=5,
        tags=["idempotent"],
        description="Have a system repaired by the team that has the ticket.",
        similes=["fix", "restart"],
    )
    desk.action(
        "create_account",
        {"person": Person, "system": System, "ticket": Ticket, "request": Request, "team": Team},
        requires=[*at_work, "asked(person, request)", "wants_access(request)", "not broken(system)"],
        provides=["belongs(account, person)", "opens(account, system)"],
        creates={"account": Account},
        cost=3,
        description="Make an account for somebody who has asked for one.",
        similes=["sign up", "provision"],
        examples=["create an account for the new colleague"],
    )
    desk.action(
        "secure",
        {"account": Account, "person": Person},
        requires=["belongs(account, person)"],
        provides=["protected(account)"],
        cost=2,
        tags=["idempotent"],
        description="Set up a second factor for an account.",
        similes=["configure account", "enable two-factor login"],
    )
    desk.action(
        "hand_over",
        {
            "account": Account,
            "person": Person,
            "system": System,
            "password": Annotated[str, From("belongs(account, person)", "data.password", approved=True), FIXED],
        },
        requires=["belongs(account, person)", "opens(account, system)", "protected(account)"],
        provides=["can_use(person, system)"],
        tags=["irreversible", "needs_observed"],
        description="Send somebody the password of a protected account.",
        similes=["give access", "send credentials"],
    )


def _declare_answers(desk: Domain) -> None:
    desk.action(
        "answer",
        {
            "request": Request,
            "person": Person,
            "system": System,
            "ticket": Ticket,
            "link": Annotated[str, From("tracks(ticket, request)", "data.link")],
        },
        requires=[
            *["asked(person, request)", "concerns(request, system)", "tracks(ticket, request)", "not broken(system)"],
            "(imply (wants_access ?request) (can_use ?person ?system))",
        ],
        provides=["answered(request)"],
        description="Write to somebody that the matter is settled, with a link to the ticket.",
        similes=["reply", "tell"],
    )
    desk.action(
        "close",
        {"ticket": Ticket},
        requires=["open(ticket)", "(forall (?r - Request) (imply (tracks ?ticket ?r) (answered ?r)))"],
        provides=["closed(ticket)", "not open(ticket)"],
        tags=["idempotent"],
        description="Close a ticket, all of whose requests are answered.",
        similes=["resolve", "done"],
    )


Asked = tuple[str, str, str, bool]
"""A request, who made it, the system that it is about, and whether it is for an account."""


def problems() -> Mapping[str, Problem]:
    """Return the shipped problems by name, from easy to hard; each is made when it is looked up."""
    return LazyProblems(
        {
            "new-account": new_account,
            "outage": outage,
            "hour": partial(generate, 1, 3),
            "morning": partial(generate, 2, 5),
            "day": partial(generate, 3, 8),
            "monday": partial(generate, 4, 12),
            "week": partial(generate, 5, 24),
        }
    )


def new_account(*, team: str | None = "office-it") -> Problem:
    """Return the smallest real errand: somebody wants to use the wiki. Without a `team` for it, nobody can help."""
    return _make_problem("new-account", [("login", "ada", "wiki", True)], {} if team is None else {"wiki": team}, [])


def outage() -> Problem:
    """Return an errand in which two people report the same failure, for which one ticket will do."""
    asked = [("slow-mail", "ada", "mail", False), ("no-mail", "ben", "mail", False)]
    return _make_problem("outage", asked, {"mail": "office-it"}, ["mail"])


def _make_problem(name: str, asked: Iterable[Asked], runs: Mapping[str, str], broken: Iterable[str]) -> Problem:
    asked = list(asked)
    people, systems = [each[1] for each in asked], [*(each[2] for each in asked), *runs]
    kinds = {"Request": [each[0] for each in asked], "Person": people, "System": systems, "Team": runs.values()}
    initial = [*(f"runs({team}, {system})" for system, team in runs.items()), *(f"broken({each})" for each in broken)]
    goal: list[str] = []
    for request, person, system, is_access in asked:
        initial += [f"asked({person}, {request})", f"concerns({request}, {system})"]
        goal += [f"answered({request})", f"(exists (?t - Ticket) (and (tracks ?t {request}) (closed ?t)))"]
        if is_access:
            initial.append(f"wants_access({request})")
            goal.append(f"can_use({person}, {system})")
    objects = {each: kind for kind, names in kinds.items() for each in names}
    return Domain.of(domain()).problem(name, objects=objects, initial=initial, goal=goal)


def generate(seed: int, size: int) -> Problem:
    """Return a random problem with `size` requests; the same seed and size give the same problem.

    About a third of the systems are broken. Requests about these report that; half of the others are for accounts, and
    the rest are complaints about what works again.
    """
    rng = random.Random(f"helpdesk {seed} {size}")
    people = [f"person{number}" for number in range(1, 2 + size // 2)]
    systems = [f"system{number}" for number in range(1, 2 + size // 3)]
    runs = {system: f"team{rng.randint(1, 1 + size // 4)}" for system in systems}
    broken = [system for system in systems if rng.random() < 1 / 3]
    asked: list[Asked] = []
    for number in range(1, size + 1):
        system = rng.choice(systems)
        asked.append((f"request{number}", rng.choice(people), system, system not in broken and rng.random() < 1 / 2))
    return _make_problem(f"helpdesk-{seed}-{size}", asked, runs, broken)


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


def cases() -> tuple[Case, ...]:
    """Return the optima, plans and invalid plans of the small problems, for tests."""
    from planner.testing import Case

    return (
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
