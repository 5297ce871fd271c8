"""Read training programs and job scripts."""
