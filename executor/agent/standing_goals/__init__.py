"""Standing goals: conditions under which an agent pursues goals by itself, and what becomes of the goals."""
