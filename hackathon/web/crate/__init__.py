"""RO-Crates: one run packed so that anyone can run it again."""
