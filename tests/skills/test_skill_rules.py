"""What a skill may be called."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.skills.skill_validation import (
    NAME_CHARACTERS,
    NAME_PATTERN,
    AcceptedFile,
    Attachment,
    FileRefusal,
    clean_file_name,
    complete_naming,
    file_limit_refusal,
    has_file_mention,
    missing_files,
    reorder_files,
    slug,
    vet_file,
)

pytestmark = [pytest.mark.pure, pytest.mark.kernel]


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("Issue a refund", "issue-a-refund"),
        ("  Was ist, wenn… ÄÖÜ? ", "was-ist-wenn-aou"),
        ("A--B__C", "a-b-c"),
        ("退款", ""),
        ("", ""),
    ],
)
def test_a_title_gives_a_name(title: str, name: str) -> None:
    # R100
    assert slug(title) == name


def test_a_long_title_is_cut_at_a_whole_word() -> None:
    words = "refund " * 20
    assert slug(words) == "-".join(["refund"] * 9)
    assert slug("x" * 100) == "x" * NAME_CHARACTERS
    assert len(slug("a" * 30 + " " + "b" * 33)) == NAME_CHARACTERS


@given(st.text())
def test_whatever_the_title_the_name_is_lawful_or_empty(title: str) -> None:
    assert slug(title) == "" or re.match(NAME_PATTERN, slug(title))
    assert len(slug(title)) <= NAME_CHARACTERS


@pytest.mark.parametrize(
    ("given_name", "given_title", "name", "title"),
    [
        ("", "Issue a refund", "issue-a-refund", "Issue a refund"),
        ("issue-a-refund", "", "issue-a-refund", "Issue a refund"),
        ("x", "Something else", "x", "Something else"),
        ("", "", "", ""),
    ],
)
def test_name_and_title_complete_each_other(given_name: str, given_title: str, name: str, title: str) -> None:
    completed = complete_naming(given_name, given_title)
    assert (completed.name, completed.title) == (name, title)


PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 8


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        ("prices.csv", "prices.csv"),
        ("../../etc/prices.csv", "prices.csv"),
        ("C:\\temp\\prices.csv", "prices.csv"),
        ("...hidden.txt", "hidden.txt"),
        (". .x.txt. ", "x.txt"),
        ("a\u202etxt.csv", "atxt.csv"),
        ("a\u200bb\x00\x1f.csv", "ab.csv"),
        ("a\n b\u2028c.csv", "a b c.csv"),
        ('<a>:"|?*.csv', "a.csv"),
        ("Cafe\u0301.csv", "Caf\u00e9.csv"),
        ("..", ""),
        ("/", ""),
    ],
)
def test_a_file_keeps_of_its_name_what_can_be_seen_and_leads_nowhere(sent: str, kept: str) -> None:
    assert clean_file_name(sent) == kept


@given(st.text())
def test_whatever_a_file_is_called_its_name_is_no_path_and_hides_nothing(name: str) -> None:
    kept = clean_file_name(name)
    assert not set(kept) & set('/\\<>:"|?*\n\r\t\x00')
    assert not kept.startswith(".")
    assert clean_file_name(kept) == kept


@pytest.mark.parametrize(
    ("name", "content", "media_type"),
    [
        ("a.txt", b"x", "text/plain"),
        ("A.MD", "# Prix\u00a0: 20 €".encode(), "text/markdown"),
        ("a.csv", b"a,b\r\n1,2\r\n", "text/csv"),
        ("a.json", b'{"a": 1}', "application/json"),
        ("a.pdf", b"%PDF-1.7\n", "application/pdf"),
        ("a.png", PNG, "image/png"),
        ("a.jpg", b"\xff\xd8\xff\xe0", "image/jpeg"),
        ("a.jpeg", b"\xff\xd8\xff\xe0", "image/jpeg"),
        ("a.webp", b"RIFF\x00\x00\x00\x00WEBPVP8 ", "image/webp"),
    ],
)
def test_a_file_is_taken_when_name_and_content_say_the_same(name: str, content: bytes, media_type: str) -> None:
    assert vet_file(name, content, 100) == AcceptedFile(name, media_type)


@pytest.mark.parametrize(
    ("name", "content", "field", "reason"),
    [
        ("a.docx", b"PK\x03\x04", "name", "Files with the extension .docx are not accepted. Send one of: txt, md,"),
        ("a.html", b"<script>", "name", "Files with the extension .html are not accepted."),
        ("a.svg", b"<svg/>", "name", "Files with the extension .svg are not accepted."),
        ("readme", b"x", "name", "has no extension"),
        ("", b"x", "name", "has no extension"),
        ("x" * 117 + ".txt", b"x", "name", "The name has 121 characters; at most 120 are allowed."),
        ("a.txt", b"", "file", "The file is empty."),
        ("a.txt", b"x" * 101, "file", "The file has 101 bytes; at most 100 are allowed."),
        ("a.png", b"%PDF-1.7", "file", "its extension means image/png, its content is application/pdf."),
        ("a.pdf", b"plain words", "file", "its extension means application/pdf, its content is something else."),
        ("a.txt", PNG, "file", "its extension means text/plain, its content is image/png."),
        ("a.txt", b"ab\xff", "file", "byte 2 is not UTF-8."),
        ("a.md", b"ab\x00c", "file", "character 2 is the control character U+0000."),
        ("a.json", b"{", "file", "it is not valid JSON"),
        ("a.json", b"[" * 100_000, "file", "its JSON is nested too deeply."),
    ],
)
def test_a_file_that_cannot_be_taken_is_told_why(name: str, content: bytes, field: str, reason: str) -> None:
    flaw = vet_file(name, content, 200_000 if content.startswith(b"[") else 100)
    assert isinstance(flaw, FileRefusal)
    assert flaw.field == field
    assert reason in flaw.reason


def make_attachment(name: str) -> Attachment:
    return Attachment(name, "text/plain", 1, "0" * 64, "1/x", "agent:support")


def test_a_skill_has_so_many_files_and_each_name_once() -> None:
    files = [make_attachment("a.txt")]
    assert file_limit_refusal(files, "b.txt", 2) is None
    assert file_limit_refusal(files, "A.TXT", 2) == FileRefusal(
        "name", "This skill already has a file A.TXT. Remove that one, or choose another name."
    )
    # A Cyrillic letter, and a wide one.
    assert file_limit_refusal(files, "\N{CYRILLIC SMALL LETTER A}.txt", 2)
    assert file_limit_refusal(files, "\N{FULLWIDTH LATIN SMALL LETTER A}.txt", 2)
    assert file_limit_refusal(files, "b.txt", 1) == FileRefusal(
        "file", "A skill has at most 1 files, and this one has 1. Remove one."
    )


def test_an_order_names_each_file_once() -> None:
    one, two = make_attachment("a.txt"), make_attachment("b.txt")
    assert reorder_files([one, two], ["b.txt", "a.txt"]) == (two, one)
    for names in ([], ["a.txt"], ["a.txt", "a.txt"], ["a.txt", "b.txt", "c.txt"]):
        assert reorder_files([one, two], names) == FileRefusal(
            "names", "Name each file of the skill once: a.txt, b.txt."
        )
    assert reorder_files([], ["a.txt"]) == FileRefusal("names", "Name each file of the skill once: it has none.")


def test_only_text_is_words_for_a_model_and_only_what_the_runbook_mentions() -> None:
    # R091
    assert make_attachment("a.txt").is_text
    assert not Attachment("a.pdf", "application/pdf", 1, "0" * 64, "1/x", "x").is_text
    assert has_file_mention("See Prices.csv first.", "prices.CSV")
    assert not has_file_mention("See the prices.", "prices.csv")


@pytest.mark.parametrize(
    ("body", "attached", "missing"),
    [
        ("Look it up in prices.csv and references/Terms.pdf.", (), ("prices.csv", "Terms.pdf")),
        ("Read `Data.csv`, then data.csv again.", (), ("data.csv",)),
        ("Run scripts/run.py or ./sums.xlsx", (), ("run.py", "sums.xlsx")),
        ("Read price list.csv and PRICES.csv.", ("price list.csv", "prices.csv"), ()),
        ("Read data.csv and a.md.txt.", ("a.csv", "a.md"), ("data.csv", "a.md.txt")),
        ("See https://shop.example/prices.pdf, www.shop.example/a.pdf, info@shop.md or Node.js v1.2.", (), ()),
        ("Nothing here.", ("prices.csv",), ()),
    ],
)
def test_a_runbook_that_mentions_a_file_that_is_not_attached_is_found(
    body: str, attached: tuple[str, ...], missing: tuple[str, ...]
) -> None:
    assert missing_files(body, attached) == missing
