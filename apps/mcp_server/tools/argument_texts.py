"""What several tools say of the same argument."""

from typing import Final

CUSTOMER: Final = "Channel and id of the customer, such as slack:U12345."
CONVERSATION: Final = "The conversation's id, as list_conversations gives it."
WHY: Final = "Why, in a few words."
READ: Final = "The version you read. If it has changed since, nothing is written and you are told the current one."
WHOLE: Final = "The whole new text. What you leave out is gone."
