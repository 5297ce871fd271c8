"""Commands of a run: submit, status, logs, cancel, diagnose and more."""
