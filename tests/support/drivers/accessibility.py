"""Accessibility checks of an open page with axe, in both colour schemes and all widths, and pictures of the page on request."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final, Literal

from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Page

COLOUR_SCHEMES: Final[tuple[Literal["light", "dark"], ...]] = ("light", "dark")
WIDTHS: Final = (1280, 400)
# `make browser-test PICTURES=1`; without it no pictures are taken, because nobody looks at those of a passing run.
TAKES_PICTURES: Final = os.environ.get("PICTURES", "0") not in {"", "0"}

# Folded content is checked too, except menus.
UNFOLD: Final = (
    "document.querySelectorAll('#content details:not(.pc-filter)').forEach(folded => { folded.open = true })"
)

# An icon is a word in a font that draws it.
ICONS_READ_OUT: Final = """
[...document.querySelectorAll('.material-symbols-outlined')]
    .filter(icon => !icon.closest('[aria-hidden="true"]')).map(icon => icon.outerHTML.slice(0, 200))
"""

# Elements past the window's edge, unless they are in something that scrolls by itself.
OVERFLOWING_ELEMENTS: Final = """() => [...document.querySelectorAll('#content *, #page *')].filter(each => {
    if (each.getBoundingClientRect().right <= window.innerWidth + 1 || !each.checkVisibility()) return false
    for (let over = each; over && over !== document.body; over = over.parentElement)
        if (/auto|scroll|hidden/.test(getComputedStyle(over).overflowX)) return false
    return true
}).map(each => each.outerHTML.slice(0, 160))"""

# Tables that have to be scrolled sideways to be read.
SCROLLED_REGIONS: Final = """() => [...document.querySelectorAll('.pc-scroll')]
    .filter(each => each.scrollWidth > each.clientWidth + 1).map(each => `${each.ariaLabel} is pushed aside`)"""

# Those of axe's default rules that a change of colours alone can break.
COLOUR_RULES: Final = ("color-contrast", "link-in-text-block")

# Passed rules are most of a result; only the reported ones leave the page.
_RUN: Final = """async only => (await axe.run(document, {resultTypes: ['violations'], ...(only && {runOnly: only})}))
    .violations.map(({id, help, nodes}) => `${id}: ${help}: ${nodes[0].html.slice(0, 200)}`)"""

# Wait until the page's script and styles have applied a new colour scheme or width.
_NEXT_FRAME: Final = "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))"


def accessibility_flaws(page: Page, name: str, *, only: Sequence[str] = ()) -> list[str]:
    """Return the findings of axe, one line each, and icons that would be read out as words."""
    if not page.evaluate("typeof axe !== 'undefined'"):
        page.evaluate(AXE_SCRIPT)
    found = page.evaluate(_RUN, list(only) or None)
    icons = page.evaluate(ICONS_READ_OUT)
    return [f"{name}: {flaw}" for flaw in found] + [f"{name}: an icon is read out: {icon}" for icon in icons]


def flaws_in_colour_schemes(page: Page, name: str, picture: Path) -> list[str]:
    """Return the flaws of an open page in both colour schemes: all rules in one, in the other those that colours can break."""
    found: list[str] = []
    for light in COLOUR_SCHEMES:
        page.emulate_media(color_scheme=light, reduced_motion="reduce")
        page.evaluate(_NEXT_FRAME)
        assert page.evaluate("document.documentElement.classList.contains('dark')") == (light == "dark"), light
        take_picture(page, picture.with_name(f"{picture.name}-{light}.png"))
        found += accessibility_flaws(page, f"{name} {light}", only=() if light == COLOUR_SCHEMES[0] else COLOUR_RULES)
    return found


def flaws_in_widths(page: Page, name: str, picture: Path, widths: Sequence[int] = WIDTHS) -> list[str]:
    """Return the flaws of an open page in both colour schemes and at every width, and whether it is wider than its window."""
    found: list[str] = []
    for width in widths:
        page.set_viewport_size({"width": width, "height": 900})
        found += flaws_in_colour_schemes(page, f"{name} {width}", picture.with_name(f"{picture.name}-{width}"))
        if page.evaluate("document.documentElement.scrollWidth") > width:
            found.append(f"{name} {width}: the page is wider than the window")
    return found


def overflow_flaws(page: Page, name: str, picture: Path, width: int = WIDTHS[-1]) -> list[str]:
    """Return the elements that an open page pushes past the edge of a narrow window; the width is restored afterwards."""
    before = page.viewport_size
    assert before is not None
    page.set_viewport_size({"width": width, "height": before["height"]})
    take_picture(page, picture)
    wider = page.evaluate(OVERFLOWING_ELEMENTS) if page.evaluate("document.documentElement.scrollWidth") > width else []
    aside = page.evaluate(SCROLLED_REGIONS)
    page.set_viewport_size(before)
    return [f"{name}: {each}" for each in (*wider[:3], *aside)]


def take_picture(page: Page, path: Path) -> None:
    """Save a picture of the whole page, if this run takes pictures."""
    if TAKES_PICTURES:
        page.screenshot(path=path, full_page=True)
