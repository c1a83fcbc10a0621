"""The prompts of extraction, reflection, digest and distillation."""
