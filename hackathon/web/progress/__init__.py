"""How a run gets on: its numbers over time, and how its ranks stand."""
