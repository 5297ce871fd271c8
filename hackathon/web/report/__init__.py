"""The report of an event and the slides of a team."""
