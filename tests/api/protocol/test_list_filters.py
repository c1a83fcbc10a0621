"""Whatever the console narrows a list to, REST narrows the list of the same noun to, and says so."""

from typing import Any

import pytest
from django.contrib.admin import SimpleListFilter
from django.utils import timezone

from apps.api.framework.base_views import RowViewSet
from apps.api.urls import router
from apps.console.framework.page_actions import Tabs
from apps.console.site import site
from apps.governance.database.actor_transaction import acting_as
from apps.memory.models import MemoryLine, ProfileLine
from tests.governance.isolation.test_isolation_over_rest import description
from tests.support.drivers.rest_client import RestClient
from tests.support.worlds.world import World, make_block, make_conversation, make_memory, make_profile

VIEWS: dict[str, Any] = {  # Any: the router's stubs know no views of ours
    prefix: view for prefix, view, _ in router.registry
}
ADMINS: dict[Any, Any] = dict(site._registry)
# Where REST has another word for what the console calls by its field, or by a parameter of its own.
REST_FILTER_NAMES = {"agent": "agent_key", "age": "is_overdue", "claim": "is_claimed", "live_text": "needs_rebase"}
# A member's own talks, of which the console's list of conversations shows none.
UNCOMPARED_PREFIXES = {"talks", "trials"}
PAIRS = [
    (prefix, view)
    for prefix, view in VIEWS.items()
    if prefix not in UNCOMPARED_PREFIXES and view.queryset is not None and view.queryset.model in ADMINS
]


def console_filters(admin: Any) -> set[str]:
    """What the console's list has, by the names that REST would have for it."""
    names = {_filter_name(each) for each in admin.list_filter}
    tabs: Tabs | None = admin.tabs
    names |= {tabs.field} if tabs else set()
    names |= {"search"} if admin.search_fields else set()
    return {REST_FILTER_NAMES.get(name, name) for name in names}


def _filter_name(declared: Any) -> str:
    named = declared[0] if isinstance(declared, tuple) else declared
    is_own = isinstance(named, type) and issubclass(named, SimpleListFilter)
    return str(named.parameter_name if is_own else named)


def rest_filters(view: Any) -> set[str]:
    return set(getattr(getattr(view, "filterset_class", None), "base_filters", {}))


@pytest.mark.parametrize(("prefix", "view"), PAIRS, ids=[prefix for prefix, _ in PAIRS])
def test_what_the_console_narrows_a_list_to_rest_does_too(prefix: str, view: type[RowViewSet[Any]]) -> None:
    rows: Any = view.queryset
    wanted = console_filters(ADMINS[rows.model])
    assert wanted <= rest_filters(view), f"{prefix} lacks {sorted(wanted - rest_filters(view))}"
    documented = description()["paths"][f"/api/v1/{prefix}/"]["get"]["parameters"]
    assert wanted <= {each["name"] for each in documented}


@pytest.mark.parametrize(("prefix", "view"), PAIRS, ids=[prefix for prefix, _ in PAIRS])
def test_search_looks_where_the_consoles_does(prefix: str, view: type[RowViewSet[Any]]) -> None:
    rows: Any = view.queryset
    searched = tuple(ADMINS[rows.model].search_fields)
    if searched:
        assert set(view.filterset_class.base_filters["search"].searched) == set(searched)  # type: ignore[attr-defined]  # a noun that has a list has filters


def test_most_nouns_have_a_list_in_the_console() -> None:
    assert len(PAIRS) > 30


def test_search_wants_every_word_somewhere(world: World, operator: RestClient) -> None:
    make_block(world, "Returns", body="We ship to Norway.")
    found = {query: len(operator.get(f"memory-blocks/?search={query}").body["results"]) for query in SEARCHES}
    assert found == SEARCHES
    assert operator.get(f"memory-blocks/?search={'a' * 201}").code == "invalid"
    assert operator.get("memory-blocks/?search=%00").code == "invalid"


SEARCHES = {"norway+returns": 1, "support+NORWAY": 1, "norway+sweden": 0, "%25": 0}


def test_lines_and_customers_are_found_by_what_is_due(world: World, operator: RestClient, bot: RestClient) -> None:
    make_memory(world, "Parcels take three days.")
    profile = make_profile(world)
    with acting_as(world.system):
        MemoryLine.objects.update(review_after=timezone.now())
        ProfileLine.objects.update(valid_until=timezone.now())
    assert len(operator.get("memory-lines/?due=review").body["results"]) == 1
    assert operator.get("memory-lines/?due=expired").body["results"] == []
    assert [row["id"] for row in operator.get("profiles/?due=expired").body["results"]] == [profile.pk]
    assert operator.get("profiles/?due=review").body["results"] == []
    assert bot.get("profiles/?due=expired").code == "not_permitted"


def test_conversations_are_narrowed_by_how_they_went(world: World, operator: RestClient, bot: RestClient) -> None:
    make_conversation(world)
    make_conversation(world, off_the_record=True)
    assert len(operator.get("conversations/?off_the_record=true").body["results"]) == 1
    assert len(operator.get("conversations/?has_external_agent=false").body["results"]) == 2
    assert operator.get("conversations/?outcome=solved").body["results"] == []
    assert operator.get("conversations/?stuck=retried").body["results"] == []
    assert bot.get("conversations/?stuck=retried").code == "not_permitted"
    assert operator.get("conversations/?reported=open").body["results"] == []
    assert bot.get("conversations/?reported=ever").code == "not_permitted"


def test_what_waits_is_narrowed_by_age_and_claim(operator: RestClient) -> None:
    for query in ("is_claimed=false", "is_overdue=true", "is_overdue=false&is_claimed=true", "search=support"):
        assert operator.get(f"proposals/?{query}").status == 200
