"""Floor 2: run directories — create, submit, status, events, studies, provenance, rerun, adopt, clean, cancel."""
