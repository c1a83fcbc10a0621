from __future__ import annotations

from apps.llm.backend import NotAuthorised


def key_for(api_key: str, base_url: str | None) -> str:
    """An endpoint of one's own may want no key; the vendor's does."""
    if not api_key and not base_url:
        sentence = "No model key is set. Set ANTHROPIC_API_KEY, or use the stand-in model."
        raise NotAuthorised(sentence)
    return api_key or "none"
