"""Floor 2: run directories — create, submit, events, status, provenance, rerun."""
