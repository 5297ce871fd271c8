"""Turns a training program for one GPU into a distributed one, as far as that is sure. Needs libcst (extra `port`)."""
