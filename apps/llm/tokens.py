from __future__ import annotations

BYTES_PER_TOKEN = 4


def estimate_tokens(text: str | bytes) -> int:
    """A fixed yardstick: the same bytes always count the same, on every machine."""
    size = len(text.encode() if isinstance(text, str) else text)
    return -(-size // BYTES_PER_TOKEN)
