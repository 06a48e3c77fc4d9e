"""Policies for hierarchical problems: what to do next, or how to decompose a task, whatever outcomes steps have."""
