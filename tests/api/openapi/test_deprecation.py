"""What goes is declared once; answers say so in headers, and the OpenAPI document in its own words."""

import sys
from collections.abc import Iterator
from datetime import date
from types import ModuleType
from typing import Any, ClassVar

import pytest
from django.urls import clear_url_caches, path
from drf_spectacular.generators import SchemaGenerator
from pytest_django import Settings

from apps.api.policy_conformance import bodies
from apps.api.protocol.deprecation import Deprecation
from apps.api.protocol.serializers import Shown
from apps.api.resources.memory.notebook import NewNote, NotebookRow, NoteFilters, NoteView
from apps.api.urls import router
from apps.launcher.data_folders import PROJECT
from config import urls
from tests.support.drivers.rest_client import Asker
from tests.support.factories.notes import has_notebook, make_note
from tests.support.worlds.world import World

DOCS = PROJECT / "docs" / "api.md"
ABOUT = "/docs/api#what-changes-and-how-you-are-told"
FIRST = Deprecation(date(2026, 1, 1), date(2026, 12, 31), ABOUT)
LATER = Deprecation(date(2026, 6, 1), date(2027, 6, 1), "/docs/api#notes")


class LeavingRow(NotebookRow):
    going: ClassVar = {"status": LATER}

    class Meta(NotebookRow.Meta):
        pass


class LeavingView(NoteView):
    """Notes whose list goes, with a parameter and a field of what goes elsewhere."""

    going: ClassVar = {"list": FIRST}
    going_parameters: ClassVar = {"status": LATER}
    filterset_class = NoteFilters


class FieldView(NoteView):
    """Notes of whose answers a field goes."""

    serializer_class = LeavingRow


@pytest.fixture
def leaving(settings: Settings) -> Iterator[str]:
    """The product's addresses, and before them those that go."""
    module = ModuleType("tests.leaving_urls")
    module.urlpatterns = [  # type: ignore[attr-defined]  # what Django looks for in a module of addresses
        path("api/v1/notes/", LeavingView.as_view({"get": "list"})),
        path("api/v1/notes/<int:pk>/", FieldView.as_view({"get": "retrieve"})),
        *urls.urlpatterns,
    ]
    sys.modules[module.__name__] = module
    settings.ROOT_URLCONF = module.__name__
    clear_url_caches()
    yield module.__name__
    clear_url_caches()


def told(headers: Any) -> tuple[str | None, str | None, str | None]:
    return headers.get("Deprecation"), headers.get("Sunset"), headers.get("Link")


def test_an_answer_of_what_goes_says_since_when_until_when_and_why(world: World, bot: Asker, leaving: str) -> None:
    has_notebook(world)
    link = f'<{ABOUT}>; rel="deprecation"; type="text/html"'
    assert told(bot.get("notes/").headers) == ("@1767225600", "Thu, 31 Dec 2026 00:00:00 GMT", link)
    # A refusal of it says so too.
    assert told(bot.get("notes/?nothing=1").headers)[0] == "@1767225600"


def test_of_several_things_that_go_the_first_is_named_and_all_words_are(world: World, bot: Asker, leaving: str) -> None:
    has_notebook(world)
    since, sunset, link = told(bot.get("notes/?status=open").headers)
    assert (since, sunset) == ("@1767225600", "Thu, 31 Dec 2026 00:00:00 GMT")
    assert str(link).count('rel="deprecation"') == 2


def test_a_field_that_goes_is_named_where_it_is_shown(world: World, bot: Asker, leaving: str) -> None:
    note = make_note(world)
    assert told(bot.get(f"notes/{note.pk}/").headers)[:2] == ("@1780272000", "Tue, 01 Jun 2027 00:00:00 GMT")
    assert told(bot.get(f"notes/{note.pk}/?fields=id,text").headers) == (None, None, None)


def test_a_field_that_goes_is_named_where_it_was_sent(
    world: World, bot: Asker, monkeypatch: pytest.MonkeyPatch
) -> None:
    has_notebook(world)
    monkeypatch.setattr(NewNote, "going", {"due_at": LATER})
    assert told(bot.post("notes/", {"kind": "task", "text": "Call."}).headers) == (None, None, None)
    assert told(bot.post("notes/", {"kind": "task", "text": "Call.", "due_at": None}).headers)[0] == "@1780272000"


def test_what_stays_says_nothing(world: World, bot: Asker) -> None:
    has_notebook(world)
    assert told(bot.get("notes/").headers) == (None, None, None)


@pytest.mark.slow
def test_the_document_calls_deprecated_what_is_declared(leaving: str) -> None:
    document: dict[str, Any] = SchemaGenerator(urlconf=leaving).get_schema(request=None, public=True)  # type: ignore[no-untyped-call]  # untyped there
    going = document["paths"]["/api/v1/notes/"]["get"]
    assert going["deprecated"] is True
    assert [each["name"] for each in going["parameters"] if each.get("deprecated")] == ["status"]
    assert "deprecated" not in document["paths"]["/api/v1/skills/"]["get"]
    row = document["components"]["schemas"]["LeavingRow"]["properties"]
    assert [name for name, said in row.items() if said.get("deprecated")] == ["status"]


def test_nothing_goes_sooner_than_was_promised() -> None:
    with pytest.raises(ValueError, match="at least 180 days"):
        Deprecation(date(2026, 1, 1), date(2026, 6, 1), ABOUT)


def test_the_documentation_says_whether_anything_goes() -> None:
    views: list[Any] = [view for _, view, _ in router.registry]  # Any: the router's stubs know no views of ours
    rows: list[Any] = [kind for kind in Shown.__subclasses__() if kind.__module__.startswith("apps.")]
    going = [said for kind in (*views, *bodies(), *rows) for said in kind.going.values()]
    assert ("Nothing is deprecated now." in DOCS.read_text("utf-8")) is not bool(going)
