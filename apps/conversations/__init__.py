"""Conversations, the events that arrive in them and the messages that make their transcript; not how a reply is made."""
