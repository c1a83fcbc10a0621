"""A `SKILL.md` is read as texts, refused with a reason, and written so that everybody reads the same again."""

import json
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st
from skills_ref import read_properties, validate

from apps.skills.import_export.front_matter import (
    FRONT_MATTER_CHARACTERS,
    MAX_BRACKETS,
    MAX_KEYS,
    SkillFormatError,
    read_fields,
)
from apps.skills.import_export.skill_md import FILE_BYTES, Provenance, SkillText, read_skill, write_skill
from apps.skills.skill_validation import DESCRIPTION_CHARACTERS
from tests.support.factories.zip_archives import SKILL_MD, make_skill_md

pytestmark = [pytest.mark.pure, pytest.mark.kernel]

PROVENANCE = Provenance(3, "ab" * 32)
# What a row of a skill may hold: no NUL and no half of a pair.
WORDS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=120)
NONBLANK_TEXTS = WORDS.filter(str.strip)
NAMES = st.from_regex(r"[a-z0-9]{1,9}(-[a-z0-9]{1,9}){0,3}", fullmatch=True)
FOREIGN_KEYS = NONBLANK_TEXTS.filter(lambda key: not key.startswith("preceptor-"))


def test_what_the_format_says_is_read_and_kept() -> None:
    # R100
    skill = read_skill(SKILL_MD)
    assert (skill.name, skill.title) == ("send-an-invoice", "Send an invoice")
    assert skill.description == "How to send an invoice again. Use it when a customer lost one."
    assert skill.body.startswith("# Send an invoice\n\nLook the address up")
    assert skill.body.endswith("then send it.")
    assert json.loads(skill.front_matter) == {
        "license": "CC-BY-4.0",
        "compatibility": "Needs a mail server",
        "allowed-tools": ["Read", "Bash(git:*)"],
        "metadata": {"author": "example-org", "version": "1.10"},
    }


def test_the_same_skill_is_the_same_file_and_the_file_the_same_skill() -> None:
    skill = read_skill(SKILL_MD)
    written = write_skill(skill, PROVENANCE)
    assert read_skill(written) == skill
    assert write_skill(read_skill(written), PROVENANCE) == written
    assert b'preceptor-version: "3"' in written
    assert b"preceptor-sha256" in written


SKILLS = st.builds(SkillText, NAMES, NONBLANK_TEXTS, NONBLANK_TEXTS, WORDS.map(lambda text: text[:60]), NONBLANK_TEXTS)


@pytest.mark.slow
@given(skill=SKILLS, theirs=st.dictionaries(FOREIGN_KEYS, WORDS, max_size=3), tools=st.lists(WORDS, max_size=2))
def test_whatever_a_skill_says_comes_back_and_the_formats_own_reader_agrees(
    skill: SkillText, theirs: dict[str, str], tools: list[str]
) -> None:
    kept = {**({"allowed-tools": tools} if tools else {}), **({"metadata": theirs} if theirs else {})}
    skill = replace(skill, front_matter=json.dumps(kept, ensure_ascii=False, sort_keys=True) if kept else "")
    written = write_skill(skill, PROVENANCE)
    assert read_skill(written) == skill
    with TemporaryDirectory() as place:
        folder = Path(place) / skill.name
        folder.mkdir()
        (folder / "SKILL.md").write_bytes(written)
        assert validate(folder) == []
        properties = read_properties(folder)
    assert (properties.name, properties.description) == (skill.name, skill.description.strip())
    assert properties.metadata["preceptor-title"] == skill.title
    assert {key: properties.metadata[key] for key in theirs} == theirs


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ("- a", "has no fields"),
        ("a", "has no fields"),
        ("", "has no fields"),
        ("name: &x a\nlicense: *x", "an anchor, an alias or a tag"),
        ("name: !!python/name:os.system x", "an anchor, an alias or a tag"),
        ("name: a\nname: b", "has `name` twice"),
        ("metadata: {a: {b: c}}", "nested too deeply"),
        ("license: [[a]]", "nested too deeply"),
        ("name: a\n...\n---\nname: b", "more than one YAML document"),
        ("name: a: b", "not valid YAML (line 1"),
        ("\tname: a", "not valid YAML (line 1"),
        ('name: "\\uD800"', "half a surrogate pair"),
        ('name: "\\0"', "NUL"),
        ('name: "\\UFFFFFFFF"', "not valid YAML"),
        ("[" * (MAX_BRACKETS + 1), "brackets"),
        ("x" * (FRONT_MATTER_CHARACTERS + 1), f"{FRONT_MATTER_CHARACTERS} are read"),
        ("allowed-tools:\n" + "- a\n" * (MAX_KEYS + 1), "list of more than"),
        ("".join(f"k{number}: v\n" for number in range(MAX_KEYS + 1)), "keys in one place"),
    ],
)
def test_front_matter_that_is_more_than_texts_is_refused(fields: str, reason: str) -> None:
    with pytest.raises(SkillFormatError, match="front matter") as refusal:
        read_fields(fields)
    assert reason in str(refusal.value)


@given(st.text(max_size=400))
def test_no_text_breaks_the_reader(text: str) -> None:
    with suppress(SkillFormatError):
        assert all(isinstance(value, str | list | dict) for value in read_fields(text).values())


@given(st.binary(max_size=300))
def test_no_bytes_break_it_either(content: bytes) -> None:
    for sent in (content, b"---\n" + content + b"\n---\nDo it.", b"---\nname: a\ndescription: b\n---\n" + content):
        with suppress(SkillFormatError):
            assert read_skill(sent).name


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"Do it.", "has no front matter"),
        (b"---\nname: a\n", "has no front matter"),
        (b"---\nname: \xff\n---\n", "Byte 10 of SKILL.md is not UTF-8"),
        (b"x" * (FILE_BYTES + 1), "bytes; "),
        (make_skill_md("Send It"), "`name` is “Send It”"),
        (make_skill_md("a" * 65), "1 to 64 of a-z"),
        (make_skill_md("a--b"), "single hyphens"),
        (make_skill_md(description=""), "`description` is missing"),
        (make_skill_md(description="x" * 1025), "1024 are allowed"),
        (make_skill_md(compatibility="x" * 501), "500 are allowed"),
        (make_skill_md(model="opus", hooks="none"), "The format has no field `hooks`, `model`"),
        (make_skill_md(metadata="x"), "`metadata` is not a mapping"),
        (make_skill_md(metadata="{preceptor-title: " + "x" * 121 + "}"), "120 are allowed"),
        (make_skill_md(license="[a]"), "`license` must be a text"),
        (make_skill_md(description="[a]"), "`description` must be a text"),
        (make_skill_md().replace(b"Do it.", b""), "no runbook"),
        (make_skill_md().replace(b"Do it.", b"x" * 40_001), "40000 are allowed"),
        (make_skill_md().replace(b"Do it.", b"\x00"), "NUL"),
    ],
)
def test_a_file_that_is_not_of_the_format_says_why(content: bytes, reason: str) -> None:
    with pytest.raises(SkillFormatError) as refusal:
        read_skill(content)
    assert reason in str(refusal.value)


def test_numbers_and_truth_values_stay_what_was_written() -> None:
    assert read_fields("a: 1.10\nb: no\nc: 2026-05-09\nd:\n") == {"a": "1.10", "b": "no", "c": "2026-05-09", "d": ""}


def test_line_ends_of_another_system_read_as_everywhere() -> None:
    assert read_skill(b"\xef\xbb\xbf" + SKILL_MD.replace(b"\n", b"\r\n")) == read_skill(SKILL_MD)


@pytest.mark.parametrize(
    ("description", "index"),
    [
        ("Sends it. " + "And more of it " * 30, "Sends it."),
        ("word " * 80, ("word " * 59).strip() + "…"),
        ("x" * 400, "x" * (DESCRIPTION_CHARACTERS - 1) + "…"),
    ],
)
def test_a_long_description_goes_whole_to_the_top_of_the_runbook(description: str, index: str) -> None:
    # R074
    skill = read_skill(make_skill_md(description=description))
    assert skill.description == index
    assert len(skill.description) <= DESCRIPTION_CHARACTERS
    assert skill.body == f"{description.strip()}\n\nDo it."
    assert len(skill.notes) == 1
    assert f"{len(description.strip())} characters" in skill.notes[0]
