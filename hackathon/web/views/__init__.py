"""One module per kind of page, with the values for its template."""
