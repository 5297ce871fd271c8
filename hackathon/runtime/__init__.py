"""The file that is put beside training programs. It runs in their Python and imports nothing of the toolkit."""
