"""Console: the playground and talks with an assistant."""
