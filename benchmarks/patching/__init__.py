"""Patching measured: broken plans of the shipped domains and of random ones, against planning from scratch."""
