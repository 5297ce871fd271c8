"""Masking of published pages and files: accounts, hosts and paths are replaced."""
