"""An event: its schedule, who took part, how its directories are made, and what is wrong with it."""
