"""Reports of runs: listeners, lines, the terminal, summaries for prompts, spans."""
