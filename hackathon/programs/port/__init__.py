"""Turn a training program for one GPU into a distributed one, where that is safe. Needs libcst (extra `port`)."""
