"""What happens between a proposal and its effect: who agreed, what is applied, how it is undone; no noun of its own."""
