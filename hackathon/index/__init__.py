"""The index of all runs of an event or project: record, status, numbers and cause, derived from the run directories."""
