"""The sentence that a customer gets while the spent budget of the day delays the answer: by agent and channel. Pure."""

import re
from typing import Final

from django.core.exceptions import ValidationError

DEFAULT_DELAY_NOTICE: Final = (
    "Thank you for your message. We cannot answer it right now. We will reply as soon as we can."
)
NOTICE_CHARACTERS: Final = 1_000
ALL_CHANNELS_CHARACTERS: Final = 5_000

_LINE: Final = re.compile(r"(?P<channel>[a-z][a-z0-9_-]*):(?P<sentence>.*)")


def validate_channel_notices(text: str) -> None:
    """Refuse text that is not one line for each channel, as `delay_notice_for` reads it."""
    seen: set[str] = set()
    for line in _written_lines(text):
        found = _LINE.fullmatch(line)
        if found is None:
            raise ValidationError(
                f"Write each line as “channel: sentence”, such as “sms: We reply tomorrow.” Not: {line}"
            )
        if found["channel"] in seen:
            raise ValidationError(f"The channel {found['channel']} has two lines. Keep one of them.")
        if len(found["sentence"]) > NOTICE_CHARACTERS:
            raise ValidationError(
                f"A sentence has at most {NOTICE_CHARACTERS} characters. Shorten the one of {found['channel']}."
            )
        seen.add(found["channel"])


def delay_notice_for(channel: str, notice: str, channel_notices: str) -> str:
    """The sentence for a channel: the channel's own line, or the agent's sentence. Empty: the customer gets none."""
    lines = (_LINE.fullmatch(line) for line in _written_lines(channel_notices))
    own = next((found["sentence"] for found in lines if found and found["channel"] == channel), notice)
    return own.strip()


def _written_lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]
