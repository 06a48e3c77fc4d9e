"""The plan checker, which shares no code with search."""
