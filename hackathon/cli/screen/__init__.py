"""The live view of `hackathon top`: its rows, its keys, and what is on the terminal."""
