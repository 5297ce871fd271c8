"""The form of a survey: server, pages, offline answers."""
