"""Jobs on this machine without a scheduler: one supervisor process a job, one queue for slots a machine (Linux)."""
