"""A short run of a program that says what was understood of it, before it costs a study."""
