"""Conversations: what was said in a room, what is open in it, and what is being done for it."""

from executor.agent.rooms.record import kept
from executor.agent.rooms.room import Room

__all__ = ["Room", "kept"]
