"""Masks personal data in the transcript of a conversation."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from operator import or_
from typing import Any

from apps.conversations.rules import ConversationLine
from apps.text_analysis.pii.introduced_names import find_introduced_names
from apps.text_analysis.pii.known_values import KnownValues, codes_in
from apps.text_analysis.pii.masking import PiiMasker
from apps.text_analysis.pii.tool_result_values import known_values_from

# The value of `source` on a transcript line that a customer wrote.
CUSTOMER = "customer"


def known_values_in(lines: Sequence[ConversationLine], end_user_key: str) -> KnownValues:
    """Return known personal values of a conversation: the customer's key, names, codes, and tool arguments and results."""
    calls = [call for line in lines for call in line.tool_calls]
    arguments = [str(value) for call in calls for value in call.arguments.values()]
    codes = codes_in((*(line.text for line in lines), *arguments, *(call.result for call in calls)))
    known_values = [known_values_from(value) for call in calls for value in (call.arguments, _parse_json(call.result))]
    known_values += [find_introduced_names(line.text) for line in lines if line.sender == CUSTOMER]
    return reduce(or_, known_values, KnownValues(values=codes) | known_values_from({"user_id": end_user_key}))


def mask_transcript(lines: Iterable[ConversationLine], firewall: PiiMasker) -> list[ConversationLine]:
    """Return the messages and tool calls with personal data masked."""

    def hidden(value: Any) -> Any:  # Any: JSON
        match value:
            case str():
                return firewall.mask(value).text
            case Mapping():
                return {name: hidden(item) for name, item in value.items()}
            case list() | tuple():
                return [hidden(item) for item in value]
            case _:
                return value

    return [
        replace(
            line,
            text=hidden(line.text),
            tool_calls=tuple(
                replace(call, arguments=hidden(call.arguments), result=hidden(call.result)) for call in line.tool_calls
            ),
        )
        for line in lines
    ]


def _parse_json(result: str) -> object:
    """Parse a tool result as JSON; None if it is plain text."""
    try:
        return json.loads(result)
    except (ValueError, RecursionError):
        return None
