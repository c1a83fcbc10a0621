"""Every address of the console, taken from its own table: another tenant's row is like one that is nowhere."""

from collections import Counter
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest
from django.contrib.admin.options import IS_POPUP_VAR, TO_FIELD_VAR
from django.contrib.admin.views.main import ORDER_VAR, SEARCH_VAR
from django.contrib.contenttypes.models import ContentType
from django.db.models import Model
from django.test import Client
from django.urls import URLPattern, URLResolver, reverse
from pytest_django import Settings

from apps.console.site import site
from apps.conversations.models import Conversation
from apps.review.models import BulkDecision, SavedFilter
from apps.runtime.models import Session, Turn
from apps.skills.models import Skill
from apps.tenants.models import Agent, Endpoint
from apps.tools.models import ToolServer
from tests.governance.not_found_comparison import UNKNOWN_ID, compare_responses, nouns, row_of, table_fingerprints
from tests.support.drivers.console_client import list_of, page_of
from tests.support.parameter_sampling import share_of, whole_or
from tests.support.servers.standin_model import StandIn
from tests.support.worlds.filled_world import Filled, fill_world
from tests.support.worlds.world import World, make_world

# Walks what other tests already cover, thousands of times: measuring that would only make it slower.
pytestmark = [pytest.mark.django_db, pytest.mark.unmeasured, pytest.mark.usefixtures("beside_filled")]

REGISTERED: dict[type[Model], Any] = dict(site._registry)
# Whose list is narrowed by a number that no filter of it names; it is the same code for all.
SAMPLED_MODELS = share_of(0, tuple(REGISTERED), rows=3)
# Addresses beside a noun's own, by the word that names its row.
PARAMETER_MODELS: dict[str, type[Model]] = {
    "skill_id": Skill,
    "agent_id": Agent,
    "endpoint_id": Endpoint,
    "server_id": ToolServer,
    "talk_id": Conversation,
    "trial_id": Conversation,
    "turn_id": Turn,
    "session_id": Session,
    "filter_id": SavedFilter,
    "bulk_id": BulkDecision,
}
# Pages that name no row of a tenant.
ROWLESS_PATTERNS = {
    "login_link": "signs a person in, before any tenant is known",
    "invitation": "lets a person in by a secret of their own, before any tenant is known",
    "exposure": "names rows of many nouns; tests/console/explain/test_exposure.py asks for another tenant's of each",
    "app_list": "an app, which is the same for all",
}


@pytest.fixture(autouse=True)
def no_collected_static_files(settings: Settings) -> None:
    settings.WHITENOISE_AUTOREFRESH = True


@pytest.fixture
def stranger() -> World:
    return make_world()


def people(world: World) -> dict[str, Client]:
    found = {}
    for name, user in (("operator", world.operator_user), ("admin", world.admin_user)):
        found[name] = Client()
        found[name].force_login(user)
    return found


def patterns() -> Iterator[tuple[type[Model] | None, URLPattern]]:
    """Every address that takes an argument, with the noun it stands under."""
    under = {site._registry[model].__class__: model for model in site._registry}
    for entry in site.get_urls():
        if isinstance(entry, URLResolver):
            model = next(each for each in under.values() if str(entry.pattern) == _model_path(each))
            yield from ((model, each) for each in entry.url_patterns if isinstance(each, URLPattern))
        else:
            of = next((model for word, model in PARAMETER_MODELS.items() if word in entry.pattern.converters), None)
            yield of, entry


def _model_path(model: type[Model]) -> str:
    return f"{model._meta.app_label}/{model._meta.model_name}/"


def url_arguments(model: type[Model], pattern: URLPattern) -> Iterator[dict[str, Any]]:
    """The words of an address but for the row's id: where there is a decision each of them, else a word of no meaning."""
    words = [word for word in pattern.pattern.converters if word not in {"object_id", *PARAMETER_MODELS}]
    if words == ["name"] and str(pattern.name).endswith("_decide"):
        yield from ({"name": button.name} for button in REGISTERED[model].buttons)
    else:
        yield dict.fromkeys(words, "0")


def open_page(client: Client, method: str, pattern: URLPattern, words: dict[str, Any], pk: int) -> Any:
    by = next(word for word in pattern.pattern.converters if word in {"object_id", *PARAMETER_MODELS})
    path = reverse(f"admin:{pattern.name}", kwargs=words | {by: pk})
    return client.post(path, {"read_at": 1, "reason": "Mine."}) if method == "POST" else client.get(path)


@pytest.mark.slow
@pytest.mark.whole
def test_every_page_of_another_tenants_row_is_like_that_of_none(victim: Filled, stranger: World) -> None:
    # R006, R007: change, history, versions, delete, every decision, and whatever joins them; by GET and by POST.
    before, opened, alike = table_fingerprints(victim.world), 0, Counter[str]()
    ways = list(enumerate(zip(people(stranger).items(), ("GET", "POST"), strict=True)))
    for model, pattern in patterns():
        if model is None or not pattern.pattern.converters or pattern.name is None:
            continue
        row = row_of(model, victim.world)
        words, kind = list(url_arguments(model, pattern)), pattern.name.rpartition("_")[2]
        # Of several decisions each is opened in one way; of other pages those of a kind in turn.
        for turn, ((name, client), method) in ways if len(words) > 1 else share_of(alike[kind], ways, rows=len(ways)):
            # One page decides whatever its word.
            for arguments in share_of(turn, words, rows=max(1, min(len(words), len(ways)))):
                page = partial(open_page, client, method, pattern, arguments)
                there, nowhere = compare_responses(page, row.pk, UNKNOWN_ID)
                assert not there.differs_from(nowhere), (name, method, pattern.name, arguments)
                assert there.refused, (name, method, pattern.name, there.status)
                opened += 1
        alike[kind] += 1
    assert opened > whole_or(50, whole=150)
    assert table_fingerprints(victim.world) == before


def test_every_address_with_an_argument_is_a_nouns_or_left_out_for_a_reason() -> None:
    loose = {each.name for model, each in patterns() if model is None and each.pattern.regex.groups}
    assert loose <= set(ROWLESS_PATTERNS) | {"view_on_site", None}
    assert set(REGISTERED) <= set(nouns())


def _open_list(client: Client, model: type[Model], query: dict[str, Any], name: str, word: object) -> Any:
    return client.get(list_of(model), query | {name: word}, follow=True)


def list_lookups(model: type[Model], row: Any) -> Iterator[tuple[str, object]]:
    """Everything by which a list can be narrowed: its filters, the tenant, the keys of what it refers to, and words."""
    for declared in REGISTERED[model].list_filter:
        named = declared[0] if isinstance(declared, tuple) else declared
        field = model._meta.get_field(named) if isinstance(named, str) else None
        if field is not None and field.is_relation:
            yield f"{named}__id__exact", getattr(row, f"{named}_id") or UNKNOWN_ID + 1
    # A lookup is the same whether it says that it is exact or not, and none is answered that the page does not name.
    yield from whole_or(
        (),
        whole=(
            ("id", row.pk),
            ("tenant__id__exact", row.tenant_id),
            ("agent__key", "billing"),
            ("tenant_id", row.tenant_id),
        ),
    )
    if model in SAMPLED_MODELS:
        yield "id__exact", row.pk
    yield SEARCH_VAR, "billing"


@pytest.mark.slow
@pytest.mark.whole
def test_no_list_is_narrowed_or_searched_to_another_tenants_rows(victim: Filled, stranger: World) -> None:
    # R006
    operator = people(stranger)["operator"]
    for model in REGISTERED:
        for lookup, theirs in list_lookups(model, row_of(model, victim.world)):
            nothing = "nothing-like-it" if isinstance(theirs, str) else UNKNOWN_ID
            there, nowhere = compare_responses(partial(_open_list, operator, model, {}, lookup), theirs, nothing)
            assert not there.differs_from(nowhere), (model, lookup)


@pytest.mark.slow
@pytest.mark.whole
def test_no_list_shows_another_tenants_row_however_it_is_asked_for(victim: Filled, stranger: World) -> None:
    # R006
    admin = people(stranger)["admin"]
    ways: list[dict[str, Any]] = [{ORDER_VAR: "1.-2.3.-4.5.-6.7"}, {ORDER_VAR: "-1.2.-3.4.-5.6.-7"}]
    ways += [{"tab": "all"}, {IS_POPUP_VAR: "1"}, {TO_FIELD_VAR: "id"}, {"all": ""}, {"p": "2"}]
    ways = whole_or(
        [ways[0] | {"tab": "all"}, ways[1] | {IS_POPUP_VAR: "1"}, {"all": "", TO_FIELD_VAR: "id", "p": "2"}], whole=ways
    )
    for place, model in enumerate(REGISTERED):
        row = row_of(model, victim.world)
        for way in share_of(place, ways, rows=len(ways)):
            page = admin.get(list_of(model), way, follow=True).content.decode()
            assert page_of(row) not in page, (model, way)
            assert "Billing" not in page, (model, way)


@pytest.mark.slow
@pytest.mark.whole
def test_no_form_offers_or_takes_another_tenants_row(victim: Filled, stranger: World) -> None:
    # R006: the choices of a reference, and a choice that was never offered.
    before, tried, everybody = table_fingerprints(victim.world), 0, list(people(stranger).items())
    for place, (model, pages) in enumerate((model, pages) for model, pages in REGISTERED.items() if pages.creates):
        path = reverse(f"admin:{model._meta.label_lower.replace('.', '_')}_add")
        for name, client in share_of(place, everybody, rows=len(everybody)):
            answer = client.get(path)
            if answer.status_code == 403:
                continue
            assert "Billing" not in answer.content.decode(), (name, path)
            for field in ("agent", "callee"):
                if field in pages.add_fields:
                    there, nowhere = compare_responses(
                        partial(_add, client, path, field), victim.world.agent.pk, UNKNOWN_ID
                    )
                    assert not there.differs_from(nowhere), (name, path)
                    tried += 1
    assert tried >= whole_or(5, whole=10)
    assert table_fingerprints(victim.world) == before


def _add(client: Client, path: str, field: str, word: object) -> Any:
    words = dict.fromkeys(("text", "body", "title", "name", "description", "identity", "label", "role_hint"), "mine")
    return client.post(path, {**words, "position": "0", field: word})


@pytest.mark.slow
@pytest.mark.whole
def test_there_are_no_bulk_actions_and_a_forged_one_does_nothing(victim: Filled, stranger: World) -> None:
    # R006
    before, everybody = table_fingerprints(victim.world), list(people(stranger).values())
    for place, (model, pages) in enumerate(REGISTERED.items()):
        assert not pages.actions, model
        row = row_of(model, victim.world)
        for client in share_of(place, everybody, rows=len(everybody)):
            forged = {"action": "delete_selected", "_selected_action": [row.pk], "post": "yes", "index": "0"}
            assert client.post(list_of(model), forged).status_code in {200, 302, 403, 405}, model
    assert table_fingerprints(victim.world) == before


@pytest.mark.slow
@pytest.mark.whole
def test_looking_a_row_up_by_its_kind_leads_nowhere(victim: Filled, stranger: World) -> None:
    # Django's shortcut from a content type and an id to a page, and its autocompletion.
    everybody = list(people(stranger).values())
    for place, model in enumerate(REGISTERED):
        row = row_of(model, victim.world)
        kind = ContentType.objects.get_for_model(model).pk
        for client in share_of(place, everybody, rows=len(everybody)):
            there, nowhere = compare_responses(partial(_open_shortcut, client, kind), row.pk, UNKNOWN_ID)
            assert not there.differs_from(nowhere), model
            assert there.refused
            completed = client.get(
                reverse("admin:autocomplete"),
                {
                    "app_label": model._meta.app_label,
                    "model_name": str(model._meta.model_name),
                    "field_name": "agent",
                    "term": "billing",
                },
            )
            assert "illing" not in completed.content.decode()


def _open_shortcut(client: Client, kind: int, pk: int) -> Any:
    return client.get(reverse("admin:view_on_site", kwargs={"content_type_id": kind, "object_id": pk}))


@pytest.mark.slow
def test_home_search_and_tenants_show_nothing_of_another_tenant(stranger: World, standin: StandIn) -> None:
    # R006: figures, queues, badges and names before another tenant lived and after.
    client = people(stranger)["operator"]
    addresses = [
        reverse("admin:index"),
        reverse("admin:statistics"),
        reverse("admin:switch_tenant"),
        reverse("admin:search") + "?q=refund",
    ]
    before = [page_text(client, path) for path in addresses]
    victim = fill_world(standin.backend)
    assert [page_text(client, path) for path in addresses] == before
    assert victim.world.tenant.name not in "".join(before)


def page_text(client: Client, path: str) -> str:
    def same(_: object) -> Any:
        return client.get(path)

    return compare_responses(same, "nothing", "nobody")[0].text


def test_switching_to_another_tenant_changes_nothing(victim: Filled, stranger: World) -> None:
    # R007
    client = people(stranger)["operator"]
    path = reverse("admin:switch_tenant")
    there, nowhere = compare_responses(lambda pk: client.post(path, {"tenant": pk}), victim.world.tenant.pk, UNKNOWN_ID)
    assert not there.differs_from(nowhere)
    session = client.session
    session["tenant_id"] = victim.world.tenant.pk
    session.save()
    assert client.get(page_of(victim.persona)).status_code == 302
    assert client.get(page_of(stranger.agent)).status_code == 200
