"""Whether a team is ready for its event: what is looked at, the small job, and how claims are looked at again."""
