"""An event: how it is made and checked, its schedule, and the people who took part."""
