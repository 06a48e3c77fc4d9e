"""Runs told to others: listeners, lines, the terminal, texts for prompts, spans."""
