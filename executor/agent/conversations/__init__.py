"""Rooms: conversations with an agent, their records, and the requests that are carried out in them."""
