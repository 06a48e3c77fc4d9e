"""Hierarchical plans that broke while they were carried out, repaired in the subtree where they did."""

from htn.repair.repairing import Repair, repair

__all__ = ["Repair", "repair"]
