"""Check a team's training program before it waits in a queue: code that breaks or falsifies several processes."""
