"""Nothing that a page offers leads nowhere, whoever reads it: every link opens, and every form is taken or says what is missing."""

import pytest
from django.test import Client
from django.urls import reverse

from apps.governance.actors import Role
from apps.governance.policy.policy_table import POLICY, Act
from tests.console.link_crawler import LinkCrawler
from tests.support.drivers.console_client import signed_in
from tests.support.parameter_sampling import whole_or
from tests.support.worlds.furnished_tenant import make_console_rows
from tests.support.worlds.world import World, make_limit

# From home outwards: `make test` opens what is nearest, the long proof all there is.
PAGES_OPENED, LEAST_OPENED = whole_or((40, 30), whole=(100_000, 100))


def _crawl(client: Client) -> None:
    crawl = LinkCrawler(client).walk(reverse("admin:index"), most=PAGES_OPENED)
    assert crawl.opened > LEAST_OPENED
    assert "\n".join(crawl.dead) == ""


@pytest.mark.slow
@pytest.mark.whole
@pytest.mark.parametrize("who", ["operator", "admin"])
def test_all_that_a_full_tenant_offers_opens(world: World, who: str) -> None:
    make_console_rows(world)
    _crawl(signed_in(getattr(world, f"{who}_user")))


@pytest.mark.slow
@pytest.mark.whole
def test_all_that_an_empty_tenant_offers_opens(admin: Client) -> None:
    _crawl(admin)


@pytest.mark.slow
@pytest.mark.whole
def test_all_that_is_offered_to_somebody_whose_every_act_is_closed_opens(world: World, operator: Client) -> None:
    make_console_rows(world)
    for act in Act:
        if Role.OPERATOR in POLICY[act].allowed:
            make_limit(world, act)
    _crawl(operator)
