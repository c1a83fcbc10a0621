"""The stand-in's bill, and the outcomes of its calls since it started."""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING

from apps.llm.cache_blocks import encode_compact
from apps.llm.model_backend import Usage
from apps.standin.http_api.responses import HttpAnswer, json_answer

if TYPE_CHECKING:
    from apps.llm.model_backend import JsonObject
    from apps.standin.requests import ArrivedRequest, ParsedRequest

# Beyond this number of questions, the oldest one loses its own line; the totals are kept.
QUESTIONS_KEPT = 100_000
NO_USAGE = Usage(0, 0)


@dataclass(frozen=True, slots=True)
class BilledCalls:
    """Calls and their tokens by class, with the names used in the product's usage rows."""

    calls: int = 0
    usage: Usage = NO_USAGE

    def plus(self, usage: Usage) -> BilledCalls:
        return BilledCalls(self.calls + 1, self.usage + usage)

    @property
    def wire(self) -> JsonObject:
        return {"calls": self.calls, **asdict(self.usage)}


@dataclass(frozen=True, slots=True)
class QuestionBill:
    """The bill of complete answers, and of interrupted answers, whose tokens the caller cannot count."""

    whole: BilledCalls = field(default_factory=BilledCalls)
    broken: BilledCalls = field(default_factory=BilledCalls)

    def plus(self, usage: Usage, *, whole: bool) -> QuestionBill:
        if whole:
            return replace(self, whole=self.whole.plus(usage))
        return replace(self, broken=self.broken.plus(usage))

    @property
    def wire(self) -> JsonObject:
        return {"whole": self.whole.wire, "broken": self.broken.wire}


class BillingLog:
    """Totals, a line for each question, and the calls in progress."""

    def __init__(self) -> None:
        self._total = QuestionBill()
        self._by_question: dict[str, QuestionBill] = {}
        self._in_flight = self._most_in_flight = self._abandoned = 0

    def arrive(self) -> None:
        self._in_flight += 1
        self._most_in_flight = max(self._most_in_flight, self._in_flight)

    def leave(self) -> None:
        self._in_flight -= 1

    def abandon(self) -> None:
        """Count a caller that disconnected before its answer was complete."""
        self._abandoned += 1

    def bill(self, question: str, usage: Usage, *, whole: bool) -> None:
        self._total = self._total.plus(usage, whole=whole)
        self._by_question[question] = self._by_question.pop(question, QuestionBill()).plus(usage, whole=whole)
        if len(self._by_question) > QUESTIONS_KEPT:
            del self._by_question[next(iter(self._by_question))]

    def show_bill(self, arrived: ArrivedRequest) -> HttpAnswer:
        calls: JsonObject = {
            "in_flight": self._in_flight,
            "most_in_flight": self._most_in_flight,
            "abandoned": self._abandoned,
        }
        return json_answer(self._total.wire | calls)

    def show_questions(self, arrived: ArrivedRequest) -> HttpAnswer:
        return json_answer({question: account.wire for question, account in self._by_question.items()})

    def open_anew(self, arrived: ArrivedRequest) -> HttpAnswer:
        """Clear the bill. Calls in progress stay in progress."""
        self._total = QuestionBill()
        self._by_question.clear()
        self._most_in_flight, self._abandoned = self._in_flight, 0
        return self.show_bill(arrived)


def question_sha256(asked: ParsedRequest) -> str:
    """Return the hash of a call's question, which is its last user block: plain text for a text block, else compact JSON."""
    block = next(message for message in reversed(asked.messages) if message.role == "user").blocks[-1]
    text = block.get("text")
    bare = {key: value for key, value in block.items() if key != "cache_control"}
    return hashlib.sha256((text if isinstance(text, str) else encode_compact(bare)).encode()).hexdigest()
