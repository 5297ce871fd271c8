"""What must not leave an event: accounts, hosts and paths replaced on pages and in files."""
