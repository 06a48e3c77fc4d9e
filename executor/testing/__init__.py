"""Simulated worlds, faults, virtual time and a scripted language model, to try out domains before handlers exist.

simulated = SimulatedWorld(problem, faults=[Fault(FaultKind.FAILS, "move(r2, _, _)")])
run_virtual(executor.run(problem, simulated.world))        sleeps and timeouts take no real time
simulated.holds("at(r2, lab)"), simulated.applied          the true state, and how often each step changed it
"""

from executor.testing.faults import Fault, FaultKind
from executor.testing.model_doubles import ScriptedModel, scripted
from executor.testing.simulated_observers import ALL, NOBODY, Observe, SimulatedError
from executor.testing.simulated_world import SimulatedWorld
from executor.testing.true_state import Act, Truth
from executor.testing.virtual_time import Crash, Stuck, VirtualClock, run_virtual

# fmt: off
__all__ = [
    "ALL", "NOBODY", "Act", "Crash", "Fault", "FaultKind", "Observe", "ScriptedModel", "SimulatedError",
    "SimulatedWorld", "Stuck", "Truth", "VirtualClock", "run_virtual", "scripted",
]
# fmt: on
