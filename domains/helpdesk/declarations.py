"""What a help desk can do."""

from __future__ import annotations

from functools import cache
from typing import Annotated

from planner.language.declare import FIXED, Domain, Entity, From
from planner.model import DomainModel


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
    _vocabulary(desk)
    _tickets(desk)
    _work(desk)
    _answers(desk)
    return desk.model


def _vocabulary(desk: Domain) -> None:
    desk.predicate("asked", person=Person, request=Request)
    desk.predicate("concerns", request=Request, system=System)
    desk.predicate("wants_access", request=Request, description="the request is for an account, not about a failure")
    desk.predicate("runs", team=Team, system=System)
    desk.predicate("broken", system=System)
    desk.predicate("tracks", ticket=Ticket, request=Request)
    desk.predicate("assigned", ticket=Ticket, team=Team)
    desk.predicate("belongs", account=Account, person=Person)
    desk.predicate("opens", account=Account, system=System, description="the account is one of the system")


def _tickets(desk: Domain) -> None:
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


def _work(desk: Domain) -> None:
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


def _answers(desk: Domain) -> None:
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
