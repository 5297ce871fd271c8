"""Maps kinds of pages to views."""
