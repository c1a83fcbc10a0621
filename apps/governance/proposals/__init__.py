"""Proposals: opening, approving, rejecting, and the number of people who must agree."""
