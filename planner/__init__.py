"""Forethought's planner: declarations in, validated plans out."""
