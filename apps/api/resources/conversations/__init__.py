"""REST: conversations, messages, sessions, turns of external agents, the playground and chats with assistants."""
