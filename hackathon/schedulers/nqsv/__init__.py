"""NEC's NQSV: so far only how its job scripts are read."""
