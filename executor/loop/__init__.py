"""One step: its parameters, its handler, its life."""
