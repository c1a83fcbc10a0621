"""Distillation: the lessons of each day become an agent's short, mid and long memory tiers."""
