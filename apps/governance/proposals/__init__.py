"""Proposals: opening, approving, rejecting, and who has to agree."""
