"""What the flows have in common: a page looked at on the way, and what a model read before the messages."""

import json
from typing import Any

from playwright.sync_api import Page

from tests.actions.conversing import unmarked
from tests.browser.accessibility import flaws


def visit(page: Page, path: str) -> None:
    """Open a page, which is as it should be for every eye."""
    page.goto(path)
    look(page)


def look(page: Page) -> None:
    """The page that is open has no flaw."""
    assert flaws(page, page.url) == []


def prefix(body: dict[str, Any]) -> str:  # Any: a body of the Messages API
    """All that precedes the messages: tools and system blocks, to the byte."""
    return json.dumps([unmarked(body["tools"]), unmarked(body["system"])], ensure_ascii=False)
