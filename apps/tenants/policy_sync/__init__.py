"""Writes the policy's grants and rights into the database."""
