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

from apps.api.policy_conformance import body_classes
from apps.api.protocol.deprecation import Deprecation
from apps.api.protocol.serializers import RowSerializer
from apps.api.resources.memory.notebook import NoteFilters, NoteSerializer, NoteView, WriteNoteBody
from apps.api.urls import router
from apps.launcher.data_folders import PROJECT
from config import urls
from tests.support.drivers.rest_client import RestClient
from tests.support.factories.notes import enable_notebook, make_note
from tests.support.worlds.world import World

DOCS = PROJECT / "docs" / "api.md"
CHANGES_PAGE = "/docs/api#versioning-and-deprecation"
EARLIER_DEPRECATION = Deprecation(date(2026, 1, 1), date(2026, 12, 31), CHANGES_PAGE)
LATER_DEPRECATION = Deprecation(date(2026, 6, 1), date(2027, 6, 1), "/docs/api#notes")


class LeavingRow(NoteSerializer):
    deprecated: ClassVar = {"status": LATER_DEPRECATION}

    class Meta(NoteSerializer.Meta):
        pass


class LeavingView(NoteView):
    """Notes whose list goes, with a parameter and a field of what goes elsewhere."""

    deprecated: ClassVar = {"list": EARLIER_DEPRECATION}
    deprecated_parameters: ClassVar = {"status": LATER_DEPRECATION}
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


def deprecation_headers(headers: Any) -> tuple[str | None, str | None, str | None]:
    return headers.get("Deprecation"), headers.get("Sunset"), headers.get("Link")


def test_an_answer_of_what_goes_says_since_when_until_when_and_why(world: World, bot: RestClient, leaving: str) -> None:
    enable_notebook(world)
    link = f'<{CHANGES_PAGE}>; rel="deprecation"; type="text/html"'
    assert deprecation_headers(bot.get("notes/").headers) == ("@1767225600", "Thu, 31 Dec 2026 00:00:00 GMT", link)
    # A refusal of it says so too.
    assert deprecation_headers(bot.get("notes/?nothing=1").headers)[0] == "@1767225600"


def test_of_several_things_that_go_the_first_is_named_and_all_words_are(
    world: World, bot: RestClient, leaving: str
) -> None:
    enable_notebook(world)
    since, sunset, link = deprecation_headers(bot.get("notes/?status=open").headers)
    assert (since, sunset) == ("@1767225600", "Thu, 31 Dec 2026 00:00:00 GMT")
    assert str(link).count('rel="deprecation"') == 2


def test_a_field_that_goes_is_named_where_it_is_shown(world: World, bot: RestClient, leaving: str) -> None:
    note = make_note(world)
    assert deprecation_headers(bot.get(f"notes/{note.pk}/").headers)[:2] == (
        "@1780272000",
        "Tue, 01 Jun 2027 00:00:00 GMT",
    )
    assert deprecation_headers(bot.get(f"notes/{note.pk}/?fields=id,text").headers) == (None, None, None)


def test_a_field_that_goes_is_named_where_it_was_sent(
    world: World, bot: RestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    enable_notebook(world)
    monkeypatch.setattr(WriteNoteBody, "deprecated", {"due_at": LATER_DEPRECATION})
    assert deprecation_headers(bot.post("notes/", {"kind": "task", "text": "Call."}).headers) == (None, None, None)
    assert (
        deprecation_headers(bot.post("notes/", {"kind": "task", "text": "Call.", "due_at": None}).headers)[0]
        == "@1780272000"
    )


def test_what_stays_says_nothing(world: World, bot: RestClient) -> None:
    enable_notebook(world)
    assert deprecation_headers(bot.get("notes/").headers) == (None, None, None)


@pytest.mark.slow
def test_the_document_calls_deprecated_what_is_declared(leaving: str) -> None:
    document: dict[str, Any] = SchemaGenerator(urlconf=leaving).get_schema(request=None, public=True)  # type: ignore[no-untyped-call]  # untyped there
    deprecated = document["paths"]["/api/v1/notes/"]["get"]
    assert deprecated["deprecated"] is True
    assert [each["name"] for each in deprecated["parameters"] if each.get("deprecated")] == ["status"]
    assert "deprecated" not in document["paths"]["/api/v1/skills/"]["get"]
    row = document["components"]["schemas"]["LeavingRow"]["properties"]
    assert [name for name, schema in row.items() if schema.get("deprecated")] == ["status"]


def test_nothing_goes_sooner_than_was_promised() -> None:
    with pytest.raises(ValueError, match="at least 180 days"):
        Deprecation(date(2026, 1, 1), date(2026, 6, 1), CHANGES_PAGE)


def test_the_documentation_says_whether_anything_goes() -> None:
    views: list[Any] = [view for _, view, _ in router.registry]  # Any: the router's stubs know no views of ours
    rows: list[Any] = [kind for kind in RowSerializer.__subclasses__() if kind.__module__.startswith("apps.")]
    deprecated = [deprecation for kind in (*views, *body_classes(), *rows) for deprecation in kind.deprecated.values()]
    assert ("Nothing is deprecated now." in DOCS.read_text("utf-8")) is not bool(deprecated)
