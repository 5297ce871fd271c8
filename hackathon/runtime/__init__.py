"""The file that is put beside training programs; it runs in their Python and imports nothing of the toolkit."""
