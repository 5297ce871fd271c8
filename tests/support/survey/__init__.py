"""Surveys of tests: an event with one, the answers of 2019, its server, and somebody who attacks what is published."""
