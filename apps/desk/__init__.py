"""What waits for a person of a conversation: drafts, escalations and the rules that make replies wait; it knows no runtime."""
