"""Matters that need attention, by team and cause, with background about the team."""
