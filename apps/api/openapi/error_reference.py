"""The page at which the `type` of a problem document points: `docs/errors.md`, with each code as an anchor.

Anyone may read the page, because it contains nothing of a tenant.
"""

from collections.abc import Iterable, Iterator
from functools import cache
from typing import Final

from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.safestring import SafeString, mark_safe
from django.utils.text import slugify
from django.views.decorators.http import require_safe
from markdown_it import MarkdownIt
from markdown_it.token import Token

from config.env_settings import ROOT

DOCUMENT: Final = ROOT / "docs" / "errors.md"
_IN_PAGE: Final = ("#", "https://")


@require_safe
def error_reference(request: HttpRequest) -> HttpResponse:
    """Return the page."""
    response = TemplateResponse(request, "api/error_reference.html", {"content": render_reference()})
    response["Content-Security-Policy"] = "default-src 'none'; style-src 'self'; img-src 'self'; frame-ancestors 'none'"
    return response


@cache
def render_reference() -> SafeString:
    """Render the document. Headings and codes get anchors, and links to pages that are not served become text."""
    parser = MarkdownIt("commonmark", {"html": False}).enable("table")
    tokens = list(_anchored(parser.parse(DOCUMENT.read_text(encoding="utf-8"))))
    html: str = parser.renderer.render(tokens, parser.options, {})
    return mark_safe(html)  # noqa: S308  # our own document


def _anchored(tokens: Iterable[Token]) -> Iterator[Token]:
    opened: Token | None = None
    for token in tokens:
        if token.type in {"heading_open", "tr_open", "list_item_open"}:
            opened = token
        elif token.type == "inline":
            if opened is not None and (anchor := _anchor(opened, token)):
                opened.attrSet("id", anchor)
            opened = None
            token.children = list(_without_outside_links(token.children or []))
        yield token


def _anchor(opened: Token, content: Token) -> str:
    """Return the code at the beginning of a heading, table row or list item; for other headings, their words."""
    first, *_ = content.children or [content]
    if first.type == "code_inline":
        return first.content
    return slugify(content.content) if opened.type == "heading_open" else ""


def _without_outside_links(tokens: Iterable[Token]) -> Iterator[Token]:
    is_served = True
    for token in tokens:
        if token.type == "link_open":
            is_served = str(token.attrGet("href")).startswith(_IN_PAGE)
        if is_served or token.type not in {"link_open", "link_close"}:
            yield token
