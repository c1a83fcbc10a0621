"""Conversations, inbound events and the messages of the transcript; replies are made by `apps/runtime`."""
