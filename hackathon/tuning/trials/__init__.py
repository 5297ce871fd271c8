"""Tuning of a program's parameters: trials as jobs, proposals, learning curves and when to stop one."""
