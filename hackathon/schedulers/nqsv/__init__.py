"""NEC's NQSV, from public records of its output: it was never run by the authors of this toolkit."""
