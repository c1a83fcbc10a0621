"""Governed admin classes, forms, labels, diffs and version history that every console page builds on."""
