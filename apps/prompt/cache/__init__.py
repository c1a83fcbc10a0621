"""The provider's prompt cache: placement of cache marks, and the cost of a change to the prompt."""
