"""The runtime of a partitioned model: used by training programs, needs torch, imported by no module above."""
