"""What `tests.proofs.openapi` would find: it asks every operation of the OpenAPI document, in short within `.ci/run`."""

import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest
from django.http import HttpRequest, JsonResponse
from django.urls import clear_url_caches, path
from pytest_django import Settings
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.resources.memory.notebook import NoteView
from apps.api.resources.skills.skills import SkillView
from apps.api.resources.tenants.members import MemberView
from apps.launcher.postgres import Postgres
from config import urls
from tests.proofs.openapi import MIN_MARKED_COLUMNS
from tests.support.openapi.generated_requests import STREAMING, document, fill_ids, operations, send_and_undo
from tests.support.openapi.response_checks import flaws_of
from tests.support.openapi.two_tenants import MARK, TwoTenantFixture, make_two_tenants, rollback_afterwards
from tests.support.servers.standin_model import StandIn
from tests.support.worlds.filled_world import fill_world

pytestmark = [pytest.mark.unmeasured, pytest.mark.slow]


@pytest.fixture
def ground(committing: str, postgres: Postgres, standin: StandIn) -> TwoTenantFixture:
    """Two filled tenants, committed in a database of this test alone."""
    return make_two_tenants(postgres, fill_world(standin.backend), fill_world(standin.backend))


def test_the_words_that_nobody_else_may_read_stand_in_what_their_owner_reads(ground: TwoTenantFixture) -> None:
    # Or the proof could find nothing.
    assert ground.marked >= MIN_MARKED_COLUMNS
    lists = [each for each in operations(document()) if each.method == "get" and "{" not in each.path]
    lists = [each for each in lists if not each.path.endswith((STREAMING, "/export/", "/messages/", "/search/"))]
    shown = {each.path for each in lists if MARK.encode() in send_and_undo(each.Case(), ground.owner).content}
    assert len(shown) > 25, sorted({each.path for each in lists} - shown)


class FailingView(NoteView):
    def list(self, request: Request) -> Response:
        del request
        raise KeyError("a fault of ours")


class WrongBodyView(SkillView):
    def list(self, request: Request) -> Response:
        del request
        return Response({"results": "none"}, status=200)


class WrongStatusView(MemberView):
    def list(self, request: Request) -> Response:
        del request
        return Response({"results": []}, status=203)


def leaking_view(request: HttpRequest) -> JsonResponse:
    del request
    return JsonResponse({"next": None, "previous": None, "results": [], "beside": MARK})


MUTANTS: dict[str, tuple[Any, str]] = {
    "notes": (FailingView.as_view({"get": "list"}), "a fault of ours, 500"),
    "skills": (WrongBodyView.as_view({"get": "list"}), "undocumented, 200: Response violates schema"),
    "members": (WrongStatusView.as_view({"get": "list"}), "undocumented, 203: Undocumented status code"),
    "webhooks": (leaking_view, "words of another tenant"),
}


@pytest.fixture
def mutated(settings: Settings) -> Iterator[None]:
    """The product's addresses, and before them those that do what none may."""
    module = ModuleType("tests.mutated_urls")
    module.urlpatterns = [  # type: ignore[attr-defined]  # what Django looks for in a module of addresses
        *(path(f"api/v1/{noun}/", view) for noun, (view, _) in MUTANTS.items()),
        *urls.urlpatterns,
    ]
    sys.modules[module.__name__] = module
    served = operations(document())
    settings.ROOT_URLCONF = module.__name__
    clear_url_caches()
    MUTATED_ROUTES[:] = served
    yield
    clear_url_caches()


MUTATED_ROUTES: list[Any] = []


def test_a_view_that_does_what_none_may_is_found(ground: TwoTenantFixture, mutated: None) -> None:
    for noun, (_, flaw) in MUTANTS.items():
        [operation] = [each for each in MUTATED_ROUTES if each.label == f"GET /api/v1/{noun}/"]
        case = operation.Case()
        fill_ids(case, ground, "mine")
        found = flaws_of(case, send_and_undo(case, ground.people[1]))
        assert flaw in [each.kind for each in found], (noun, found)


def test_what_a_request_did_is_taken_back(ground: TwoTenantFixture) -> None:
    [operation] = [each for each in operations(document()) if each.label == "POST /api/v1/notes/"]
    case = operation.Case(body={"agent_key": "support", "kind": "task", "text": "Call."}, media_type="application/json")
    ids = [send_and_undo(case, ground.people[1]).json()["id"] for _ in range(2)]
    assert ids[0] != ids[1]
    [listed] = [each for each in operations(document()) if each.label == "GET /api/v1/notes/"]
    with rollback_afterwards():
        rows = listed.Case().call(headers=dict(ground.agent.headers)).json()["results"]
    assert not {row["id"] for row in rows} & set(ids)
