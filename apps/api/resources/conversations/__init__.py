"""REST: conversations, messages, sessions, external turns, the playground and talks with assistants."""
