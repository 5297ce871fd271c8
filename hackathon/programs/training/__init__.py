"""A team's own training program, read before it waits in a queue: what breaks or falsifies several processes."""
