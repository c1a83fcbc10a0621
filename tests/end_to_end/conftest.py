"""Live servers for whole stories: a committing database, a broker, the stand-in model, and the product's own processes."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from pytest_django import DjangoDbBlocker

from apps.launcher.postgres import Postgres
from tests.support.servers.running_product import RunningProduct, prepare_product
from tests.support.servers.shared_product import (
    SharedProduct,
    pytest_runtest_makereport,
    pytest_runtest_teardown,
    share_product,
)

__all__ = ["pytest_runtest_makereport", "pytest_runtest_teardown"]


@pytest.fixture
def database(committing: str) -> str:
    """A database other processes see: what is written to it stays written until the test is over."""
    return committing


@pytest.fixture
def own_product(database: str, postgres: Postgres) -> Iterator[RunningProduct]:
    """Everything but the processes, which a test starts as it needs them."""
    with prepare_product(database, postgres) as own_product:
        yield own_product


@pytest.fixture(scope="session")
def shared_product(
    postgres: Postgres, template_database: str, django_db_setup: str, pytestconfig: pytest.Config
) -> Iterator[SharedProduct]:
    """The one product of this test process."""
    with share_product(SharedProduct(postgres, template_database), pytestconfig) as shared:
        yield shared


@pytest.fixture
def product(
    shared_product: SharedProduct, django_db_setup: str, django_db_blocker: DjangoDbBlocker
) -> Iterator[RunningProduct]:
    """The product as it runs, for a story in tenants of its own."""
    with django_db_blocker.unblock(), shared_product.lend(django_db_setup) as product:
        yield product


@pytest.fixture
def seeded(product: RunningProduct) -> Iterator[dict[str, Any]]:
    """The demo's tenant in the product, with a beat, and all processes checked as an installation's are."""
    product.start_beat(is_checked=True)
    yield seed_demo(product)
    product.end("beat")


def seed_demo(product: RunningProduct) -> dict[str, Any]:
    """Put up the demo's tenant while processes start; what the command made."""
    seed = product.run("manage.py", "seed_demo", "--json")
    assert seed.returncode == 0, seed.stderr
    product.await_ready()
    made: dict[str, Any] = json.loads(seed.stdout.splitlines()[-1])
    return made
