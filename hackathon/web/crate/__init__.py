"""RO-Crates: one run packed so that anybody can run it again."""
