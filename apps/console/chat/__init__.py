"""Console: the playground and chats with an assistant."""
