"""Declaring tasks and methods in Python, on a domain.

how = Methods(office)

@how.task
def deliver(parcel: Parcel, target: Room): ...

@how.method(task="deliver(parcel, target)", requires=["at(parcel, origin)"])
def by_robot(robot: Robot, parcel: Parcel, origin: Room, target: Room):
    yield f"fetch({robot}, {parcel}, {origin})"
    yield f"bring({robot}, {parcel}, {target})"

problem = how.problem(objects=…, initial=…, tasks=["deliver(p1, hall)"])
"""

from htn.language.declare.methods import Methods

__all__ = ["Methods"]
