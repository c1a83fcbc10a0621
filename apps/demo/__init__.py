"""Seeds, imports and the story the product plays against itself from outside; no part of the running product."""
