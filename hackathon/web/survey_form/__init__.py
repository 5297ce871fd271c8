"""The form of a survey: server, page, answers without a network."""
