"""Jobs on this machine without a scheduler: one supervisor process per job, one queue for slots (Linux)."""
