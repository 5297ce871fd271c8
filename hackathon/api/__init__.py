"""The Python interface: typed objects over the functions that the commands call; `import hackathon` loads them late."""
