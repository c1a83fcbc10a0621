"""What identifies somebody is found however it is written, and what identifies nobody stays."""

# ruff: noqa: RUF001 - digits and signs of other scripts are meant.

import re
from collections import Counter
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.text_analysis.pii.known_values import KnownValues
from apps.text_analysis.pii.masking import MASK_KINDS, MaskedText, PiiMasker
from apps.text_analysis.pii.tenant_patterns import PiiTemplate, read_template
from apps.text_analysis.pii.text_folding import BARRIER, KEPT_MARK
from tests.support.parameter_sampling import share_of
from tests.text_analysis.labelled_pii_lines import PRIVATE_LINES, PUBLIC_LINES

pytestmark = [pytest.mark.pure, pytest.mark.kernel]

FIREWALL = PiiMasker.against(KnownValues())
LABELLED_SPAN = re.compile(r"\{([a-z-]+)\|([^}]*)\}")

Span = tuple[str, int, int]


def template(label: str, written: str) -> PiiTemplate:
    read = read_template(label, written)
    assert isinstance(read, PiiTemplate), read
    return read


def strip_labels(line: str) -> tuple[str, list[Span]]:
    """A labelled line as a customer wrote it, and where in it which kind stands."""
    text, spans, place = "", [], 0
    for mark in LABELLED_SPAN.finditer(line):
        text += line[place : mark.start()]
        spans.append((mark[1], len(text), len(text) + len(mark[2])))
        text, place = text + mark[2], mark.end()
    return text + line[place:], spans


def count_detections() -> Counter[str]:
    """Over both tables: private stretches wholly masked or missed, those of the right kind, and findings beside them."""
    count: Counter[str] = Counter()
    for line in (*PRIVATE_LINES, *PUBLIC_LINES):
        text, spans = strip_labels(line)
        found = FIREWALL.mask(text).findings
        for kind, start, end in spans:
            masked = {place for each in found for place in range(each.start, each.end)}
            whole = all(place in masked or not text[place].isalnum() for place in range(start, end))
            count["found" if whole else "missed"] += 1
            count["named"] += any(each.kind == kind and start < each.end and each.start < end for each in found)
        beside = [each for each in found if not any(start < each.end and each.start < end for _, start, end in spans)]
        count["false alarms"] += len(beside)
    return count


def test_the_labelled_lines_are_masked_whole_and_nothing_else_is() -> None:
    count = count_detections()
    private = count["found"] + count["missed"]
    recall, precision = count["found"] / private, count["found"] / (count["found"] + count["false alarms"])
    print(
        f"{len(PRIVATE_LINES) + len(PUBLIC_LINES)} lines, {private} private stretches: recall {recall:.3f},"
        f" precision {precision:.3f},"
        f" right kind {count['named'] / private:.3f}"
    )
    assert len(PRIVATE_LINES) + len(PUBLIC_LINES) >= 120
    assert recall >= 0.98
    assert precision >= 0.98
    assert count["named"] >= 0.97 * private


@pytest.mark.parametrize("line", PUBLIC_LINES)
def test_what_is_nobodys_stays(line: str) -> None:
    assert FIREWALL.mask(line) == MaskedText(line, ())


def test_a_finding_says_what_stood_where() -> None:
    text = "Mail \u200bsam@example.org or call +49 171\u200b 3920000."
    masked = FIREWALL.mask(text)
    assert masked.text == "Mail \u200b[e-mail] or call [phone]."
    assert [(found.kind, text[found.start : found.end], found.token) for found in masked.findings] == [
        ("e-mail", "sam@example.org", "[e-mail]"),
        ("phone", "+49 171\u200b 3920000", "[phone]"),
    ]


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("Card 4111 1111 1111 1112", "Card [number]"),
        ("Not an account: DE89 3704 0044 0532 0130 02", "Not an account: DE89 [number]"),
        ("DE89370400440532013000x", "DE89370400440532013000x"),
        ("12345678A is no DNI", "12345678A is no DNI"),
        ("7 (0123) 45", "7 (0123) 45"),
        ("call 20.12.2026", "call 20.12.2026"),
        ("phone 20121226, day 20121226", "phone [phone], day 20121226"),
        ("fax 2000.12.34", "fax [phone]"),
        ("2130706433 / 1000000000", "2130706433 / 1000000000"),
        ("Between [phone] and 5550123 is [e-mail]@example.org", "Between [phone] and 5550123 is [e-mail]@example.org"),
    ],
)
def test_what_only_looks_like_it(text: str, left: str) -> None:
    assert FIREWALL.mask(text).text == left


PIECES = (
    *(LABELLED_SPAN.sub(r"\2", line) for line in PRIVATE_LINES[::3]),
    *PUBLIC_LINES[::4],
    *(f"[{kind}]" for kind in MASK_KINDS),
    *(
        "Mia",
        "mia",
        "Li",
        "LI4711",
        "w-4711",
        "山田",
        "POL-123456",
        "[policy]",
        "Call me at",
        "EUR",
        "error",
        "rue",
        "Street",
    ),
    *(
        " ",
        ", ",
        "-",
        ".",
        "/",
        "(",
        ")",
        "+",
        "@",
        "'",
        "\n",
        "\u200b",
        "\u00a0",
        "٣",
        "４",
        BARRIER,
        KEPT_MARK,
        "0",
        "12",
        "555",
        "2026",
    ),
)


@given(st.lists(st.sampled_from(PIECES), max_size=14))
def test_masking_again_changes_nothing(pieces: list[str]) -> None:
    known = KnownValues(frozenset({"Mia Li", "山田"}), frozenset({"w4711", "li_4711", "2026-4711"}))
    firewall = PiiMasker.against(known, templates=[template("policy", "POL-######")])
    once = firewall.mask("".join(pieces))
    assert firewall.mask(once.text) == MaskedText(once.text, ())


@given(st.text(max_size=80))
def test_findings_tell_the_whole_difference(text: str) -> None:
    masked = FIREWALL.mask(text)
    rebuilt, place = "", 0
    for found in masked.findings:
        assert place <= found.start < found.end <= len(text)
        rebuilt += text[place : found.start] + found.token
        place = found.end
    assert rebuilt + text[place:] == masked.text


HOSTILE = {
    "digits": "1",
    "pairs": "12 ",
    "signs": "1-(2) /",
    "words": "a ",
    "capitals": "Ab ",
    "houses": "12 Ab ",
    "streets": "12 a street, ",
    "calle": "calle ab ",
    "avenue": "1 rue a ",
    "hyphens": "A-",
    "mail": "a@a.",
    "at": "a.a@",
    "accounts": "DE89 1",
    "cards": "4111 1111 1111 1111 ",
    "dates": "2026-11-",
    "days": "20261122 ",
    "versions": "1.2.3 ",
    "prices": "1,000",
    "phone": "phone ",
    "call": "call me at me ",
    "codes": "a-1",
    "tokens": "[e-mail]",
    "invisible": "1\u200b",
    "spaces": " ",
}


def _seconds(firewall: PiiMasker, text: str, times: int) -> float:
    taken = []
    for _ in range(times):
        begun = process_time()
        firewall.mask(text)
        taken.append(process_time() - begun)
    return min(taken)


@pytest.mark.slow
@pytest.mark.unmeasured
@pytest.mark.whole
@pytest.mark.parametrize("name", share_of(0, list(HOSTILE), rows=4))
def test_four_times_the_text_takes_about_four_times_as_long(name: str) -> None:
    firewall = PiiMasker.against(KnownValues(frozenset({"a a a b"}), frozenset({"a-1-a-1-b"})))
    short, long = ((HOSTILE[name] * characters)[:characters] for characters in (16 * 1024, 64 * 1024))
    # The best of three each: a busy machine stops either for longer than it takes.
    assert _seconds(firewall, long, 3) < 8 * _seconds(firewall, short, 3)
