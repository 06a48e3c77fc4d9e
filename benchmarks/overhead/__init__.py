"""What the executor itself takes: plans whose handlers do nothing, timed step by step, in memory, and many at once."""
