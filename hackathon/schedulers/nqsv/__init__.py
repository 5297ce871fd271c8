"""NEC's NQSV, from public records of what it printed: it was never run by the authors of this toolkit."""
