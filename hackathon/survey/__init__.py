"""Surveys of an event: how answers are collected, kept separate from their authors, and summarised."""
