"""Words as the stand-in compares them: lower case, without endings, with synonyms of customer service merged."""

from __future__ import annotations

import re

WORD = re.compile(r"[^\W_]+")
_STOP_WORDS = """
    a about above after again all also am an and any are as at be because been before being but by can could d did do e
    does doing don down for from get go going got had has have having he hello her here hey hi him his how i if in into
    is it its just know let like ll m make may me might mine more most my need no nor not now of off on once one only or
    other our out over own please re s she should so some such t tell than thank thanks that the their them then there
    these they this those through to too under until up us ve very want was we were what when where which while who why
    will with would yes you your yours
"""
STOP_WORDS = frozenset(_STOP_WORDS.split())
SYNONYMS = (
    "change modify update alter edit amend adjust move reschedule correct",
    "cancel cancelled cancelling revoke terminate stop",
    "buy purchase",
    "refund reimburse reimbursement",
    "late delay delayed overdue",
    "missing lost",
    "broken damaged defective faulty",
    "delivery deliver shipping shipment ship parcel package courier",
    "invoice bill billing",
    "payment pay paid",
    "email mail",
    "phone call telephone",
    "reservation booking book reserve",
    "subscription membership",
    "contact reach",
    "prefer preference preferred rather",
    "reset recover",
    "baggage luggage bag",
)
# Verbs of a customer's request, as opposed to the objects.
ACTION_WORDS = frozenset(
    {"buy", "cancel", "change", "contact", "downgrade", "exchange", "extend", "prefer", "refund", "renew", "repair"}
    | {"reset", "return", "swap", "transfer", "upgrade"}
)
# Objects of a request, as words that name no person, place or possession of one customer.
SERVICE_WORDS = """
    account address appointment arrive balance card certificate city complaint contract cost coupon data deadline
    discount document error exchange extend fee flight form gift hotel hours insurance invoice item licence
    license limit login meeting newsletter notification offer opening password payment policy preference price privacy
    problem product profile quote receipt renew repair report request reset room schedule seat setting setup size
    sms statement status store swap tax team text ticket time track transfer trial upgrade user voucher warranty window
    passenger cabin class trip order return downgrade
"""


def stem(word: str) -> str:
    """Return a simple stem, sufficient for `orders`, `ordered` and `ordering` to match."""
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    for ending in ("ing", "ed", "es", "s", "e"):
        if word.endswith(ending) and len(word) - len(ending) >= 3 and not word.endswith("ss"):
            return word[: -len(ending)]
    return word


_CANONICAL_BY_STEM = {stem(word): group.split()[0] for group in SYNONYMS for word in group.split()}
_READABLE_BY_STEM = {stem(word): word for word in SERVICE_WORDS.split()}


def content_words(text: str) -> tuple[str, ...]:
    """Return the stem of each meaningful word, without duplicates, in order of appearance."""
    seen = (stem(word) for word in WORD.findall(text.lower()) if word not in STOP_WORDS)
    return tuple(dict.fromkeys(_CANONICAL_BY_STEM.get(word, word) for word in seen))


def shared_words(one: str, other: str) -> int:
    return len(set(content_words(one)) & set(content_words(other)))


def service_words(text: str) -> tuple[str, ...]:
    """Return the words that describe the kind of request, verbs first, without words that could identify a customer."""
    general = set(_CANONICAL_BY_STEM.values())
    known = [
        word if word in general else _READABLE_BY_STEM[word]
        for word in content_words(text)
        if word in general or word in _READABLE_BY_STEM
    ]
    return tuple(sorted(dict.fromkeys(known), key=lambda word: word not in ACTION_WORDS))


def tool_name_in_words(tool_name: str) -> str:
    """Return a tool's name as words: `update_customer_profile` becomes "update customer profile"."""
    return tool_name.replace("_", " ").replace("-", " ").strip()
