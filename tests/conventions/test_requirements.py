"""Requirement numbers can be looked up. Each rule is shown to catch a bad example first."""

import pytest

from tests.conventions import documentation, requirements
from tests.conventions.allowances import UNTESTED_REQUIREMENTS
from tests.conventions.source_files import make_source

# Reads the product's sources and runs nothing of it.
pytestmark = pytest.mark.unmeasured

PAGE_TEXT = requirements.PAGE.read_text(encoding="utf-8")
LINES = requirements.numbered_lines(PAGE_TEXT)
KNOWN = frozenset(line.number for line in LINES)


def make_page(*lines: str) -> str:
    """Return a page with these lines, each with its anchor."""
    numbered = (line.split(" ", maxsplit=1) for line in lines)
    return "\n".join(f'- <a id="{number.lower()}"></a>**{number}** {text}' for number, text in numbered)


def test_each_number_is_on_the_page_once_and_none_is_missing() -> None:
    assert list(requirements.numbering_flaws(PAGE_TEXT)) == []
    assert {"R001", "R190", "Z-1", "Z-37", "A1"} <= KNOWN


@pytest.mark.parametrize(
    "page",
    [
        make_page("R001 One.", "R003 Three."),
        make_page("R001 One.", "R001 One again."),
        make_page("R002 Two.", "R001 One."),
        make_page("Z-1 One.", "Z-3 Three."),
        make_page("R001 One.").replace('"r001"', '"r010"'),
        make_page("R001 One.") + "\n- **R002** A line without an anchor.",
        make_page("R001 One.") + '\n- <a id="r002"></a>R002 A number without emphasis.',
    ],
    ids=["gap", "twice", "order", "gap of decisions", "another anchor", "no anchor", "no emphasis"],
)
def test_flawed_numbering_is_caught(page: str) -> None:
    assert list(requirements.numbering_flaws(page))


def test_sound_numbering_passes() -> None:
    page = make_page("R001 One. See Z-1.", "Z-1 One.", "R002 Two.", "A1 One.")
    assert list(requirements.numbering_flaws(f"# R numbers\n\nA line about R007.\n{page}")) == []


@pytest.mark.slow
def test_every_number_that_a_file_cites_is_on_the_page() -> None:
    files = list(requirements.text_files())
    assert {"README.md", "Makefile", ".ci/run", "docs/requirements.md"} <= {str(source.path) for source in files}
    assert [flaw for source in files for flaw in requirements.unknown_citations(source, KNOWN)] == []


def test_unknown_number_is_caught() -> None:
    text = "# R190, Z-37\nx = 1\n# R191, R000\n# R12, XR999, A-Z-99\n-- Z-38\nMEASUREMENTS A99, paper A99\nR090-R998\n"
    found = list(requirements.unknown_citations(make_source("apps/skills/models.py", text), KNOWN))
    assert [flaw.split(": ")[0].split(":")[1] for flaw in found] == ["3", "3", "5", "6", "7"]
    assert [flaw.split()[1] for flaw in found] == ["R191", "R000", "Z-38", "A99", "R998"]


@pytest.mark.slow
def test_every_requirement_that_is_built_is_cited_by_a_test() -> None:
    tests = documentation.product_tests()
    assert list(requirements.untested_requirements(LINES, tests, UNTESTED_REQUIREMENTS)) == []


def test_requirement_without_a_test_is_caught() -> None:
    lines = requirements.numbered_lines(
        make_page(
            "R001 Built.",
            "R002 Built.",
            "R003 Half of it. **Open:** the other half.",
            "R004 Not so. Replaced by [Z-1](#z-1).",
            "R005 Built. See [Z-1](#z-1).",
            "Z-1 So.",
        )
    )
    tests = [make_source("tests/skills/test_skills.py", "def test_x() -> None:  # R002\n    ...")]
    assert [flaw[:4] for flaw in requirements.untested_requirements(lines, tests, {})] == ["R001", "R005"]
    assert list(requirements.untested_requirements(lines, tests, {"R001": "why", "R005": "why"})) == []


@pytest.mark.parametrize("number", ["R002", "R003", "R009"], ids=["cited", "open", "unknown"])
def test_allowance_that_nothing_needs_is_caught(number: str) -> None:
    lines = requirements.numbered_lines(make_page("R002 Built.", "R003 Not yet. **Open:** all of it."))
    tests = [make_source("tests/skills/test_skills.py", "# R002")]
    [flaw] = requirements.untested_requirements(lines, tests, {number: "why"})
    assert "remove it" in flaw
