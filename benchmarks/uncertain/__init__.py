"""Problems with uncertain outcomes: policies against replanning, and against the optimum."""
