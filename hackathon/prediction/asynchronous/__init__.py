"""Statistics of asynchronous SGD with a parameter server: from a run of one worker to many workers."""
