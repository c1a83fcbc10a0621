"""Addresses that name a row by a number no row has: refused like any other, and in the books without it."""

import pytest

from apps.governance.database.actor_transaction import acting_as
from apps.governance.models import Refusal
from tests.support.drivers.rest_client import RestClient
from tests.support.worlds.world import World

BEYOND_A_COLUMN, BEYOND_PYTHON = "9" * 19, "9" * 5_000


@pytest.mark.parametrize("number", [BEYOND_A_COLUMN, BEYOND_PYTHON])
def test_a_number_that_no_row_has_is_refused_and_noted(world: World, bot: RestClient, number: str) -> None:
    assert bot.get(f"notes/{number}/").status == 404
    assert bot.get(f"members/{number}/").status == 403
    assert bot.post(f"notes/{number}/drop/", {}).status == 404
    with acting_as(world.admin):
        kept = list(Refusal.objects.order_by("id").values_list("subject_type", "subject_id", "code"))
    assert kept == [("tenants.membership", None, "not_permitted"), ("notebook.note", None, "not_found")]
