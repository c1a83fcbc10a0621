from __future__ import annotations

BYTES_PER_TOKEN = 4


def estimate_tokens(text: str | bytes) -> int:
    """A fixed yardstick: the same bytes always count the same, on every machine."""
    return tokens_in_bytes(len(text.encode() if isinstance(text, str) else text))


def tokens_in_bytes(size_bytes: int) -> int:
    """The same of so many bytes."""
    return -(-size_bytes // BYTES_PER_TOKEN)
