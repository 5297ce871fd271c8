"""Floor 4: studies, speed-up and parallel efficiency, fits, plot specifications."""
