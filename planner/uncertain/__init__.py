"""Actions that may come out in several ways: decision processes, their solution, and policies."""
