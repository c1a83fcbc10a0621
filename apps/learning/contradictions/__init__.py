"""Contradictions between texts that an agent follows: stored, dismissed and reopened; the nightly scan is in `apps/runtime`."""
