from __future__ import annotations

BYTES_PER_TOKEN = 4


def estimate_tokens(text: str | bytes) -> int:
    """Return an estimate of a text's tokens; equal bytes give equal counts on every machine."""
    return tokens_in_bytes(len(text.encode() if isinstance(text, str) else text))


def tokens_in_bytes(size_bytes: int) -> int:
    """Return the estimated tokens of this many bytes."""
    return -(-size_bytes // BYTES_PER_TOKEN)
