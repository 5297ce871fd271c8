"""Surveys of an event: how answers are collected, kept apart from who gave them, and summed up."""
