"""Learning from conversations and edits: extraction, reflection, lessons, digest and distillation; skills are in `apps/skills`."""
