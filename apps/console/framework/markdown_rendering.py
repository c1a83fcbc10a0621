"""Markdown as a reviewer may see it: nothing remote is loaded, nothing is hidden, nothing runs."""

from collections.abc import Iterable, Iterator, MutableMapping, Sequence
from html import escape
from typing import Any

import nh3
from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import OptionsDict

ALLOWED_TAGS = {
    *("p", "br", "hr", "blockquote", "pre", "code", "em", "strong", "s", "ul", "ol", "li"),
    *("h1", "h2", "h3", "h4", "h5", "h6", "table", "thead", "tbody", "tr", "th", "td", "span"),
}
BREAKS, BLOCKS = {"softbreak", "hardbreak"}, {"fence", "code_block"}
Environment = MutableMapping[str, Any]


def render_markdown(text: str) -> SafeString:
    """Render Markdown: headings come below the page's own, and links and images become text that shows their address."""
    html = nh3.clean(_MARKDOWN.render(text), tags=ALLOWED_TAGS, attributes={"span": {"class"}, "ol": {"start"}})
    return mark_safe(html)  # noqa: S308  # cleaned by the allow-list above


def plain_words(text: str) -> str:
    """Return the words of a text on one line, without Markdown marks."""
    return " ".join(" ".join(_visible_texts(_MARKDOWN.parse(text))).split())


def _visible_texts(tokens: Iterable[Token]) -> Iterator[str]:
    for token in tokens:
        if token.type == "inline":
            # Inline marks occur within words; line breaks separate words.
            yield "".join(" " if each.type in BREAKS else each.content for each in token.children or ())
        elif token.type in BLOCKS:
            yield token.content


def _render_link_close(
    renderer: RendererHTML, tokens: Sequence[Token], at: int, options: OptionsDict, env: Environment
) -> str:
    """Show the address of a link behind its text, so that a reviewer sees where it leads."""
    opened = next(token for token in reversed(tokens[:at]) if token.type == "link_open")
    return f' <span class="pc-address">({escape(str(opened.attrGet("href") or ""))})</span>'


def _drop_link_open(
    renderer: RendererHTML, tokens: Sequence[Token], at: int, options: OptionsDict, env: Environment
) -> str:
    return ""


def _render_image(
    renderer: RendererHTML, tokens: Sequence[Token], at: int, options: OptionsDict, env: Environment
) -> str:
    token = tokens[at]
    placeholder = f"image not loaded: {token.content or 'no description'} ({token.attrGet('src')})"
    return f'<span class="pc-address">[{escape(placeholder)}]</span>'


def _render_heading(
    renderer: RendererHTML, tokens: Sequence[Token], at: int, options: OptionsDict, env: Environment
) -> str:
    level = min(max(int(tokens[at].tag[1:]) + 1, 3), 6)
    return f"<{'/' if tokens[at].nesting < 0 else ''}h{level}>"


def _build_parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    for name, rule in {
        "link_open": _drop_link_open,
        "link_close": _render_link_close,
        "image": _render_image,
        "heading_open": _render_heading,
        "heading_close": _render_heading,
    }.items():
        parser.add_render_rule(name, rule)
    return parser


_MARKDOWN = _build_parser()
