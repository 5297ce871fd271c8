"""An event: its schedule, its participants, the directories it needs, and the checks of all these."""
