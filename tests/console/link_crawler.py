"""A person who follows everything that a page offers: each link, and each form as the page filled it in."""

import re
from collections import deque
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any
from urllib.parse import parse_qsl, urljoin, urlsplit

from django.db import transaction
from django.test import Client
from django.urls import reverse

# Rows of tests whose message names a turn that never was, or whose session has an invented hash.
INVENTED = ("/admin/turns/10000", "/apart/")
# Asks a model, which the house refuses to do in a transaction; every form of a crawl is sent in one, to be taken back.
ASKS_A_MODEL = re.compile(r"^post /admin/tenants/endpoint/\d+/test/$")


@dataclass
class PageForm:
    """One form: how and where it is sent, and with what."""

    method: str
    action: str
    values: dict[str, str] = field(default_factory=dict)


class PageParser(HTMLParser):
    """The links and forms of one page."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.offers: list[PageForm] = []
        self._select = self._area = ""
        self.feed(source)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "a" and given.get("href"):
            self.links.append(given["href"])
        elif tag == "form":
            self.offers.append(PageForm(given.get("method", "get").lower(), given.get("action", "")))
        elif self.offers and given.get("name"):
            self._set_field_value(tag, given)
        if tag == "option" and self.offers and self._select:
            values = self.offers[-1].values
            if "selected" in given or self._select not in values:
                values[self._select] = given.get("value", "")

    def _set_field_value(self, tag: str, given: dict[str, str]) -> None:
        name, values = given["name"], self.offers[-1].values
        if tag == "textarea":
            self._area, values[name] = name, ""
        elif tag == "select":
            self._select = name
        elif tag == "input" and (given.get("type") not in {"checkbox", "radio", "submit"} or "checked" in given):
            values[name] = given.get("value", "on")

    def handle_data(self, data: str) -> None:
        if self._area:
            self.offers[-1].values[self._area] += data

    def handle_endtag(self, tag: str) -> None:
        self._area = "" if tag == "textarea" else self._area
        self._select = "" if tag == "select" else self._select


@dataclass
class LinkCrawler:
    """Where one got from home, and what came of it."""

    client: Client
    seen: set[str] = field(default_factory=set)
    sent: set[str] = field(default_factory=set)
    dead: list[str] = field(default_factory=list)
    opened: int = 0

    def walk(self, start: str, *, most: int) -> "LinkCrawler":
        """Breadth first, so that what is nearest is opened first."""
        waiting = deque([(start, "the beginning")])
        while waiting and self.opened < most:
            url, offered = waiting.popleft()
            if _sorts_of(url) <= self.seen:
                continue
            self.seen |= _sorts_of(url)
            self.opened += 1
            waiting.extend((each, url) for each in self._open_page(url, offered))
        return self

    def _open_page(self, url: str, offered: str) -> Iterator[str]:
        response = self.client.get(url, follow=True)
        if response.status_code != 200 and not any(each in url for each in INVENTED):
            self.dead.append(f"{response.status_code} {url} (offered by {offered})")
        if not response.get("Content-Type", "").startswith("text/html"):
            return
        source = response.content.decode()
        if "Perhaps it was deleted?" in source:
            self.dead.append(f"gone {url} (offered by {offered})")
        at = response.request["PATH_INFO"]
        page = PageParser(source)
        if reverse("admin:index") not in page.links:
            self.dead.append(f"no way home {url} (offered by {offered})")
        for link in page.links:
            target = urljoin(url if at == urlsplit(url).path else at, link)
            if target.startswith("/") and not link.startswith("#"):
                yield target.partition("#")[0]
        for each in page.offers:
            self._send_form(each, url)

    def _send_form(self, offer: PageForm, url: str) -> None:
        target = urljoin(url, offer.action)
        key = f"{offer.method} {urlsplit(target).path}"
        if key in self.sent or offer.method == "dialog" or ASKS_A_MODEL.match(key):
            return
        self.sent.add(key)
        # Nothing of it stays: neither a row nor a session that this very form ended.
        hand = Client()
        hand.cookies = deepcopy(self.client.cookies)
        with transaction.atomic():
            response: Any = getattr(hand, offer.method)(target, offer.values)
            transaction.set_rollback(True)
        if response.status_code in {400, 403, 404, 405} or response.status_code >= 500:
            self.dead.append(f"{response.status_code} {key} (a form of {url})")


def _sorts_of(url: str) -> set[str]:
    """What of an address is looked at once: its page, and each way to narrow that, whatever it is narrowed to."""
    parts = urlsplit(url)
    words = parse_qsl(parts.query, keep_blank_values=True)
    return {parts.path} | {f"{parts.path}?{name}={value if name in {'tab', 'kind'} else ''}" for name, value in words}
