"""An HTTP client for the demo: an integration with a token, or a person's browser with cookies and forms."""

import html
import json
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from html.parser import HTMLParser
from http.cookiejar import CookieJar
from typing import Any, Final
from urllib.error import HTTPError
from urllib.parse import urlencode, urljoin
from urllib.request import HTTPCookieProcessor, ProxyHandler, Request, build_opener

TIMEOUT_SECONDS: Final = 90
REFUSAL_CHARACTERS: Final = 200


@dataclass(frozen=True, slots=True)
class PageResponse:
    """A response: its address, its text, and its duration."""

    status: int
    url: str
    text: str
    seconds: float

    @property
    def json(self) -> Any:
        """Return the body as JSON; an empty object if it is not JSON."""
        try:
            return json.loads(self.text)
        except ValueError:
            return {}

    @property
    def refusal(self) -> str:
        """Return the explanation contained in an unexpected response."""
        problem = self.json if isinstance(self.json, dict) else {}
        detail = problem.get("detail") or _refusal_text(self.text)
        return " ".join(filter(None, [str(self.status), problem.get("code"), " ".join(detail.split())]))

    @property
    def forms(self) -> "list[HtmlForm]":
        parser = _FormParser()
        parser.feed(self.text)
        return parser.found


def _refusal_text(text: str) -> str:
    """Return a page's alert or title; for any other text, its beginning."""
    match = re.search(r'role="alert">(.*?)</div>', text, re.DOTALL) or re.search(
        r"<title>(.*?)</title>", text, re.DOTALL
    )
    return html.unescape(re.sub(r"<[^>]*>", " ", match[1])) if match else text[:REFUSAL_CHARACTERS]


@dataclass(slots=True)
class HtmlForm:
    """A form of a page, with the values that it would send unchanged."""

    action: str
    fields: dict[str, str] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)


class HttpVisitor:
    """A client that keeps cookies, and acts as an agent if it has a token."""

    def __init__(self, base_url: str, token: str = "") -> None:
        self._base_url = base_url
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}
        # No proxy: the server runs on the same machine.
        self._opener = build_opener(ProxyHandler({}), HTTPCookieProcessor(CookieJar()))

    def get(self, path: str) -> PageResponse:
        return self._send("GET", urljoin(self._base_url, path), self._headers)

    def send(self, method: str, path: str, body: object, **headers: str) -> PageResponse:
        """Send a JSON body; header names are written with underscores."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        content = {"Content-Type": "application/json"} | self._headers | named
        return self._send(method, urljoin(self._base_url, path), content, json.dumps(body).encode())

    def submit(self, page: PageResponse, form: HtmlForm, **typed: str) -> PageResponse:
        """Submit a form of a page as a browser does, with the typed values."""
        body = urlencode(form.fields | typed).encode()
        # A browser sends the form's page as the referrer, which Django requires over https.
        return self._send("POST", urljoin(page.url, form.action), {"Referer": page.url}, body)

    def _send(self, method: str, url: str, headers: Mapping[str, str], body: bytes | None = None) -> PageResponse:
        request = Request(url, body, dict(headers), method=method)  # noqa: S310  # the console's own address
        started = time.monotonic()
        try:
            response = self._opener.open(request, timeout=TIMEOUT_SECONDS)
        except HTTPError as refusal:
            response = refusal
        with response:
            text = response.read().decode(errors="replace")
        return PageResponse(response.status, response.url, text, time.monotonic() - started)


class _FormParser(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[HtmlForm] = []
        self._open: HtmlForm | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "form":
            self._open = HtmlForm(given.get("action", ""))
            self.found.append(self._open)
        elif self._open and tag in {"input", "textarea"} and given.get("name"):
            kept = self._open.fields if given.get("type") == "hidden" else self._open.asked
            if isinstance(kept, dict):
                kept[given["name"]] = given.get("value", "")
            else:
                kept.append(given["name"])

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self._open = None
