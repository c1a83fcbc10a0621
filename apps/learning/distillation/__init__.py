"""Distillation: what an agent's days taught becomes its short, mid and long memory tiers."""
