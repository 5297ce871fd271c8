"""The templates of job scripts: what they may do, and how they are rendered."""
