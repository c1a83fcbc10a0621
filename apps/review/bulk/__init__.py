"""Bulk decisions: one act decides many proposals, carried out by a worker that can resume after a crash."""
