"""Kumo, a batch system that does not exist: its command (`bin/kumo`), and a plug-in as somebody else would write it."""
