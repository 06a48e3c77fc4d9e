"""Checks of plans before they run, with a place for each mistake."""
