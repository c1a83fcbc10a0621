"""Texts outside the code keep up with it. Each rule is shown to catch a bad example first."""

from pathlib import Path

import pytest

from apps.launcher.data_folders import PROJECT
from tests.conventions import documentation
from tests.conventions.source_files import make_source, sources

# Reads the product's sources and runs nothing of it.
pytestmark = pytest.mark.unmeasured

PAGE = PROJECT / "docs" / "page.md"
DECISIONS = PROJECT / "docs" / "decisions"
DECISION = """# Layers

Status: accepted · Date: 2026-11-21

## Context
## Decision
## Consequences
## Alternatives considered
"""


@pytest.mark.slow
def test_every_command_has_a_test_and_a_line_in_the_documentation() -> None:
    names = documentation.commands(documentation.product())
    tests = [source.text for source in documentation.product_tests()]
    assert documentation.missing_names(names, tests) == [], "these commands are named in no test"
    assert documentation.missing_names(names, documentation.documentation_pages().values()) == [], (
        "these commands are named in no page of docs/; add them to docs/commands.md"
    )


def test_command_named_only_inside_another_word_is_caught() -> None:
    found = [
        make_source("apps/skills/management/commands/mine.py", ""),
        make_source("apps/skills/management/commands/_x.py", ""),
    ]
    assert documentation.commands(found) == ["mine"]
    assert documentation.missing_names(["mine"], ["the mine_skills command", "determine"]) == ["mine"]
    assert documentation.missing_names(["mine"], ['call_command("mine")']) == []


def test_every_setting_is_documented() -> None:
    [environment] = [source for source in sources("config") if "class Environment" in source.text]
    names = documentation.settings_fields(environment)
    assert names
    assert documentation.undocumented(names, (PROJECT / "docs" / "settings.md").read_text(encoding="utf-8")) == []


def test_setting_without_a_line_is_caught() -> None:
    text = "class Environment(BaseSettings):\n    model_config: X = 1\n    debug: bool = False\n    redis_url: str = ''"
    names = documentation.settings_fields(make_source("config/env_settings.py", text))
    assert names == ["DEBUG", "REDIS_URL"]
    assert documentation.undocumented(names, "`REDIS_URL` is where. DEBUG is not code here.") == ["DEBUG"]


@pytest.mark.slow
def test_every_error_code_is_documented() -> None:
    codes = documentation.error_codes(documentation.product())
    page = (PROJECT / "docs" / "errors.md").read_text(encoding="utf-8")
    assert set(codes) >= {"GovernanceError", "NotPermitted"}
    assert documentation.undocumented(sorted(set(codes.values())), page) == []


def test_error_code_is_found_across_files_and_generations() -> None:
    child = make_source("apps/a/errors.py", "class Late(errors.Spent):\n    code: ClassVar[str] = 'late'")
    parent = make_source(
        "apps/b/errors.py", "class Spent(BackendError):\n    code = 'spent'\nclass Odd(Exception):\n    code = 'no'"
    )
    assert documentation.error_codes([child, parent]) == {"Late": "late", "Spent": "spent"}


def test_every_link_in_the_documentation_leads_somewhere() -> None:
    assert [
        flaw
        for path, text in documentation.documentation_pages().items()
        for flaw in documentation.broken_links(path, text)
    ] == []


@pytest.mark.parametrize(
    "link", ["nowhere.md", "../missing/", "#absent", "decisions/01-layers.md#absent", "requirements.md#r999"]
)
def test_broken_link_is_caught(link: str) -> None:
    assert list(documentation.broken_links(PAGE, f"# A page\n[text]({link})"))


@pytest.mark.parametrize(
    "link", ["decisions/01-layers.md", "../LICENSE", "#a-page", "requirements.md#r064", "https://example.org/x"]
)
def test_sound_link_passes(link: str) -> None:
    assert list(documentation.broken_links(PAGE, f"# A page\n[text]({link})\n```\n[x](nowhere.md)\n```\n")) == []


def test_every_decision_has_its_number_sections_and_line_in_the_index() -> None:
    pages = sorted(path for path in DECISIONS.glob("*.md") if path.name != "README.md")
    index = (DECISIONS / "README.md").read_text(encoding="utf-8")
    texts = {path.name: path.read_text(encoding="utf-8") for path in pages}
    assert [flaw for name, text in texts.items() for flaw in documentation.decision_flaws(name, text, index)] == []
    assert [name[:2] for name in texts] == [f"{number:02}" for number in range(1, len(texts) + 1)]


@pytest.mark.parametrize(
    ("name", "text", "index"),
    [
        ("layers.md", DECISION, "[Layers](layers.md)"),
        ("01-layers.md", DECISION.replace("Status", "State"), "[Layers](01-layers.md)"),
        ("01-layers.md", DECISION.replace("## Consequences", "## Cost"), "[Layers](01-layers.md)"),
        ("01-layers.md", DECISION, "Layers"),
    ],
    ids=["no number", "no status", "no consequences", "not in the index"],
)
def test_incomplete_decision_is_caught(name: str, text: str, index: str) -> None:
    assert len(list(documentation.decision_flaws(name, text, index))) == 1


def test_complete_decision_passes() -> None:
    assert list(documentation.decision_flaws("01-layers.md", DECISION, "[Layers](01-layers.md)")) == []


def test_pages_are_found() -> None:
    assert Path(PROJECT / "docs" / "contributing.md") in documentation.documentation_pages()
