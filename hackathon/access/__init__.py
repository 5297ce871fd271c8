"""Who may read, write and replace what: access lists, permissions, and safe creation and opening of files."""
