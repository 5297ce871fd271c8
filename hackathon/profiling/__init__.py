"""Floor 3.5: how the time of a step is split, from the records of each rank."""
