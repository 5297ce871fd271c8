"""Floor 3.5: where the time of a step goes, from the records of each rank."""
