"""Shared steps of the browser flows: visits with a check of each page, and the prompt before the messages."""

import json
from contextlib import suppress
from typing import Any

from playwright.sync_api import Page
from playwright.sync_api import TimeoutError as TimedOut

from tests.support.drivers.accessibility import accessibility_flaws
from tests.support.drivers.conversation import without_cache_marks
from tests.support.timeouts import PATIENCE_SECONDS


def visit(page: Page, path: str) -> None:
    """Open a page, and check that it has no accessibility flaw."""
    page.goto(path)
    assert_no_flaws(page)


def assert_no_flaws(page: Page) -> None:
    """Check that the open page has no accessibility flaw."""
    assert accessibility_flaws(page, page.url) == []


def go_by_shortcut(page: Page, letter: str, url: str) -> None:
    """Press g and a letter; repeat if a busy machine took longer between the two than the page waits."""
    for seconds in (5, 10, PATIENCE_SECONDS):
        page.keyboard.type(f"g{letter}")
        with suppress(TimedOut):
            page.wait_for_url(url, timeout=seconds * 1000)
            return
    raise AssertionError(f"g and {letter} do not lead from {page.url} to {url}.")


def request_prefix(body: dict[str, Any]) -> str:  # Any: a body of the Messages API
    """Return everything before the messages: tools and system blocks, to the byte."""
    return json.dumps([without_cache_marks(body["tools"]), without_cache_marks(body["system"])], ensure_ascii=False)
