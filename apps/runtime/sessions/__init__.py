"""Sessions: opening with a frozen prompt, continuing, ending."""
