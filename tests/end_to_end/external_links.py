"""Which addresses of other hosts a page would load, or take a reader to: judged by a parser, not by looking for words."""

import re
from html.parser import HTMLParser
from urllib.parse import urlsplit

OWN_HOSTS = frozenset({"", "testserver"})
OWN_SCHEMES = frozenset({"", "http", "https"})
# Attributes that make a browser fetch, follow or send. `style` and `content` may hold an address among other words.
ADDRESSES = frozenset(
    {"action", "archive", "background", "cite", "classid", "codebase", "data", "formaction", "href", "icon"}
    | {"imagesrcset", "longdesc", "manifest", "ping", "poster", "profile", "src", "srcdoc", "srcset", "usemap"}
    | {"xlink:href"}
)
PROSE_WITH_ADDRESSES = frozenset({"style", "content"})
_EMBEDDED_ADDRESS = re.compile(r"(?:https?:)?//[^\s\"')]+", re.IGNORECASE)


def outside_addresses(page: str) -> list[str]:
    """Each as `tag.attribute address`; empty if the page stays at home."""
    reader = _Reader()
    reader.feed(page)
    reader.close()
    return reader.found


class _Reader(HTMLParser):
    """Collects what leads elsewhere."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self._within = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._within = tag
        for name, value in attrs:
            for address in _addresses(name, value or ""):
                if _is_external(address):
                    self.found.append(f"{tag}.{name} {address}")

    def handle_endtag(self, tag: str) -> None:
        del tag
        self._within = ""

    def handle_data(self, data: str) -> None:
        if self._within in {"style", "script"}:
            self.found += [
                f"{self._within} {address}" for address in _EMBEDDED_ADDRESS.findall(data) if _is_external(address)
            ]


def _addresses(name: str, value: str) -> list[str]:
    if name in {"srcset", "imagesrcset"}:
        return [part.split()[0] for part in value.split(",") if part.split()]
    if name == "srcdoc" or name.startswith("on"):
        return [value]
    if name in ADDRESSES:
        return [value]
    return _EMBEDDED_ADDRESS.findall(value) if name in PROSE_WITH_ADDRESSES else []


def _is_external(address: str) -> bool:
    try:
        parts = urlsplit(address.strip())
    except ValueError:
        return True
    return parts.netloc not in OWN_HOSTS or parts.scheme.lower() not in OWN_SCHEMES
