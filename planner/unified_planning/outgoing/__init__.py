"""Problems of the model as problems of unified-planning, in the form that an engine takes."""
