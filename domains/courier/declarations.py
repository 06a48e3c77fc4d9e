"""What couriers can do."""

from __future__ import annotations

from functools import cache

from planner.language.declare import Domain, Entity
from planner.model import DomainModel


class Robot(Entity):
    """A courier."""


class Tray(Entity):
    """A place on a robot for one parcel."""


class Parcel(Entity):
    """Something to be carried."""


class Room(Entity):
    """A place where robots stop and parcels lie."""


@cache
def domain() -> DomainModel:
    """Return the domain."""
    courier = Domain("courier", description="Carry parcels from room to room.")
    at = courier.predicate("at", robot=Robot, room=Room)
    lies = courier.predicate("lies", parcel=Parcel, room=Room, description="the parcel is in the room, on no tray")
    on = courier.predicate("on", parcel=Parcel, tray=Tray)
    has = courier.predicate("has", robot=Robot, tray=Tray)
    empty = courier.predicate("empty", tray=Tray)
    corridor = courier.predicate("corridor", origin=Room, target=Room)
    distance = courier.function("distance", origin=Room, target=Room)

    courier.action(
        "move",
        {"robot": Robot, "origin": Room, "target": Room},
        requires=[at("robot", "origin"), corridor("origin", "target")],
        provides=[at("robot", "target")],
        modifies=[at("robot", "_")],
        cost=distance("origin", "target"),
        description="Go along a corridor.",
        similes=["go", "drive"],
    )
    courier.action(
        "pick_up",
        {"robot": Robot, "tray": Tray, "parcel": Parcel, "room": Room},
        requires=[at("robot", "room"), lies("parcel", "room"), has("robot", "tray"), empty("tray")],
        provides=[on("parcel", "tray"), "not empty(tray)"],
        modifies=[lies("parcel", "_")],
        description="Put a parcel on an empty tray.",
        similes=["load", "take"],
    )
    courier.action(
        "put_down",
        {"robot": Robot, "tray": Tray, "parcel": Parcel, "room": Room},
        requires=[at("robot", "room"), on("parcel", "tray"), has("robot", "tray")],
        provides=[lies("parcel", "room"), empty("tray")],
        modifies=[on("parcel", "_")],
        description="Leave a parcel in a room.",
        similes=["unload", "drop"],
    )
    return courier.model
