"""Floor 1: from the user's options to a checked request and a job script. Pure, except that it reads templates."""
