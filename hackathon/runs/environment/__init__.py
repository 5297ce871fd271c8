"""Python environments of recipes."""
