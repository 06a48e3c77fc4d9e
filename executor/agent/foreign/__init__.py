"""Plans that others have drawn up: taken in whatever their form, resolved, checked, repaired at the least change."""

from executor.agent.foreign.repairing import Repaired, RepairStatus, repair, repaired
from executor.agent.foreign.resolving import Said, resolve
from executor.agent.foreign.shapes import Call, calls_in

__all__ = ["Call", "RepairStatus", "Repaired", "Said", "calls_in", "repair", "repaired", "resolve"]
