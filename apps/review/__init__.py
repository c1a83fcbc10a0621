"""What happens between a proposal and its effect: who agreed, what is applied, how it is undone; no rows of its own."""
