"""Floor 0: messages in two languages, errors, units, node lists, files. Imports nothing but the standard library."""
