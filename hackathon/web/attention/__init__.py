"""Who needs help: matters that need somebody, by team and cause, with what is known about the team."""
