"""A person's steps on a console page: open it, read it, send one of its forms."""

import html
import re
from html.parser import HTMLParser
from typing import Any

from django.db.models import Model
from django.test import Client
from django.urls import reverse

from apps.console.site import ADMINS_BY_MODEL
from apps.governance.database.actor_transaction import acting_as
from apps.governance.models import Proposal
from apps.tenants.models import User
from apps.tenants.session_store import note_seen
from tests.support.worlds.world import World


def signed_in(user: User) -> Client:
    """Return a client with a session of this person. Its use is recorded already; a page writes that every few minutes."""
    client = Client()
    client.force_login(user)
    session = client.session
    note_seen(session, device="", ip_address="127.0.0.1")
    session.save()
    return client


def page_of(row: Model) -> str:
    """Return the path of a row's page."""
    return reverse(f"admin:{row._meta.label_lower.replace('.', '_')}_change", args=[row.pk])


def list_of(model: type[Model]) -> str:
    """Return the path of a model's list."""
    return reverse(f"admin:{model._meta.label_lower.replace('.', '_')}_changelist")


def paths(world: World) -> dict[str, str]:
    """Return the paths of Home, of every list on all its tabs, and of the newest row of every model."""
    found = {
        "home": reverse("admin:index"),
        "figures": reverse("admin:statistics"),
        "told": reverse("admin:notification_preferences"),
        "health": reverse("admin:health"),
        "policy": reverse("admin:policy"),
        "search": f"{reverse('admin:search')}?q=refund",
        "search-empty": reverse("admin:search"),
        "search-nothing": f"{reverse('admin:search')}?q=xylophone",
        "signed-in": reverse("admin:browser_sessions"),
        "factor": reverse("admin:second_factor"),
        "password": reverse("admin:password_change"),
    }
    with acting_as(world.admin):
        for model in ADMINS_BY_MODEL:
            name = model.__name__.lower()
            found[f"{name}-list"] = f"{list_of(model)}?tab=all"
            row: Model | None = model._default_manager.order_by("-pk").first()
            if row is not None:
                found[name] = page_of(row)
        for proposal in Proposal.objects.visible_to(world.admin):
            found[f"proposal-{proposal.kind}"] = page_of(proposal)
    written = ("persona", "personaoverlay", "identitycard", "standingrule")
    memory = ("memory_agentmemory", "memory_memoryblock")
    agents = ("tenants_agent", "tenants_invokableagent")
    nouns = (*(f"personas_{name}" for name in written), "skills_skill", *agents, *memory)
    for noun in nouns:
        found[f"{noun}-add"] = reverse(f"admin:{noun}_add")
    return found


def decision_of(row: Model, name: str) -> str:
    """Return the path to which a decision is posted."""
    return reverse(f"admin:{row._meta.label_lower.replace('.', '_')}_decide", args=[row.pk, name])


def page_text(response: Any) -> str:
    """Return the page's source with its entities resolved."""
    return html.unescape(response.content.decode())


def page_words(response: Any) -> str:
    """Return the page as people read it: without tags, with single spaces."""
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", response.content.decode())).split())


def decide(client: Client, row: Model, decision: str, /, **typed: object) -> Any:
    """Open the row's page, fill in the form of one decision, send it."""
    path = decision_of(row, decision)
    values = form_values(client.get(page_of(row)).content.decode(), path)
    return client.post(path, values | {key: str(value) for key, value in typed.items()})


def save_form(client: Client, path: str, **typed: object) -> Any:
    """Open a page, type into its edit form, save it."""
    values = form_values(client.get(path).content.decode(), path)
    return client.post(path, values | {key: str(value) for key, value in typed.items()})


def form_values(page: str, action: str) -> dict[str, str]:
    """Return the values that a browser would send for the form with this action."""
    reader = _Forms()
    reader.feed(page)
    return reader.forms[action]


class _Forms(HTMLParser):
    """The values of every form of a page, by its action."""

    def __init__(self) -> None:
        super().__init__()
        self.forms: dict[str, dict[str, str]] = {}
        self._open: dict[str, str] | None = None
        self._area = self._select = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "form":
            self._open = self.forms.setdefault(given.get("action", ""), {})
        elif self._open is None:
            return
        elif tag == "input" and given.get("name") and self._is_submitted(given):
            self._open[given["name"]] = given.get("value", "on" if given.get("type") == "checkbox" else "")
        elif tag == "textarea":
            self._area = given["name"]
            self._open[self._area] = ""
        elif tag == "select":
            self._select = given["name"]
        elif tag == "option" and ("selected" in given or self._select not in self._open):
            self._open[self._select] = given.get("value", "")

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self._open = None
        elif tag == "textarea":
            self._area = ""

    def handle_data(self, data: str) -> None:
        if self._open is not None and self._area:
            self._open[self._area] += data

    @staticmethod
    def _is_submitted(given: dict[str, str]) -> bool:
        return given.get("type") not in {"checkbox", "radio"} or "checked" in given
