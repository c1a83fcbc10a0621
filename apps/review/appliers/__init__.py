"""What the approval of each kind of proposal writes."""
