"""Floor 0: messages in two languages, errors, units, node lists, files. Imports only the standard library."""
