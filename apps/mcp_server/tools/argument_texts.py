"""Descriptions of arguments that several tools share."""

from typing import Final

CUSTOMER_TEXT: Final = "Channel and id of the customer, such as slack:U12345."
CONVERSATION_TEXT: Final = "The conversation's id, as list_conversations gives it."
REASON_TEXT: Final = "Why, in a few words."
VERSION_TEXT: Final = (
    "The version you read. If it has changed since, nothing is written and you are told the current one."
)
WHOLE_BODY_TEXT: Final = "The whole new text. What you leave out is gone."
