"""Connections that clients share carry nothing from one to the next; `python -m tests.proofs.connection_pools` is the long form."""

import pytest
from django.conf import settings
from django.db import connection

from apps.launcher.postgres import Postgres
from tests.governance.pool_interleaving import KINDS, interleave, make_tenants
from tests.support.database.connection_pools import POOL_ROUTES, PoolRoute, find_pgbouncer

# Walks what other tests already cover.
pytestmark = pytest.mark.unmeasured


@pytest.mark.slow
@pytest.mark.parametrize("name", POOL_ROUTES)
def test_sixty_four_clients_see_their_own_tenant_whatever_connection_they_get(
    name: str, postgres: Postgres, committing: str
) -> None:
    # R006, R012, R013
    if name == "pgbouncer" and find_pgbouncer() is None:
        pytest.skip("pgbouncer is not installed; .ci/run installs it for the proof")
    way: PoolRoute = POOL_ROUTES[name]
    inhabitants = make_tenants(4)
    connection.close()
    with way(postgres):
        counted = interleave(inhabitants, 320)
    assert (counted["foreign"], counted["blind"]) == (0, 0)
    assert counted["refused"] == counted["nobody"] > 0
    assert all(counted[kind] for kind in KINDS)


def test_nothing_is_prepared_or_kept_open_beyond_a_transaction() -> None:
    # R013: behind a pooler the next transaction has another connection.
    given = connection.settings_dict
    assert settings.DATABASES["default"]["DISABLE_SERVER_SIDE_CURSORS"]
    assert "prepare_threshold" not in given["OPTIONS"]
    assert connection.get_connection_params().get("prepare_threshold") is None
