"""Floor 1: from what was asked to a checked request to a job script. Pure but for reading templates."""
