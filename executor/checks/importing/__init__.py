"""Plans that other agent frameworks write as JSON: `actionName`, `parameters`, `dependencies`, `executionModel`."""

from executor.checks.importing.here import NOT_IMPORTED
from executor.checks.importing.plan import Imported, import_plan, is_foreign

__all__ = ["NOT_IMPORTED", "Imported", "import_plan", "is_foreign"]
