"""Scripted replies for extraction, reflection, digest and distillation."""
