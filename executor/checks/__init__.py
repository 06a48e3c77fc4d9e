"""Plans are checked before they run: everything that is wrong with one, at once."""

from executor.checks.findings import PlanFinding
from executor.checks.limits import Estimate, estimate
from executor.checks.means import check_means
from executor.checks.run import check_plan, errors_in
from executor.checks.sources import read_plan

__all__ = ["Estimate", "PlanFinding", "check_means", "check_plan", "errors_in", "estimate", "read_plan"]
