"""One module for each scheduler with recorded answers: `cases()` and `NOT_ASKED`, see `support.truncation`."""
