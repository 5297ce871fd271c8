"""Reads training programs and job scripts."""
