"""Whether a team is ready for its event: the checks, the small job, and how claims are verified."""
