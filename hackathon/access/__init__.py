"""Who may read, write and replace what: access lists, permissions, safe creation and opening of files."""
