"""Dispatches plans in time: steps start by a temporal network, and deadlines are watched."""
