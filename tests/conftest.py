"""What every test stands on: a real PostgreSQL, with its roles and walls, cloned for tests that commit."""

import gc
import os
import sys
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, nullcontext
from pathlib import Path
from typing import Any, Final

import pytest
from django.conf import settings
from hypothesis import HealthCheck
from hypothesis import settings as hypothesis_settings
from pytest_django import DjangoDbBlocker
from xdist import is_xdist_worker

from apps.launcher.postgres import Postgres
from tests.settings import PREFIX
from tests.support.build_counts import (
    ARE_LIMITS_ENFORCED,
    begin_counting,
    counted_statements,
    counts,
    exceeded_limits,
    limits,
)
from tests.support.coverage_tracing import EVERYTHING, import_kernel, is_traced, without_tracing
from tests.support.database.clone_pool import ClonePool
from tests.support.database.clones import clone_database, close_connections, disable_autovacuum, point_to
from tests.support.database.committed_worlds import COMMITTED_WORLDS
from tests.support.database.committing_fixture import committing
from tests.support.database.migrated_cluster import TEMPLATE, ready_server
from tests.support.parameter_sampling import IS_FAST, whole_or
from tests.support.servers.standin_model import base_url, shared_url, standin, standing_in
from tests.support.servers.tool_server_fixtures import asked_server, reaching, served
from tests.support.worlds.world import make_world

# Fixtures of every folder, beside those below.
__all__ = [
    "asked_server",
    "base_url",
    "committing",
    "reaching",
    "served",
    "shared_url",
    "standin",
    "standing_in",
]

begin_counting()
# urllib keeps what the environment says of proxies when it is first asked; all that tests reach by it is this machine.
urllib.request.install_opener(urllib.request.build_opener(urllib.request.ProxyHandler({})))

# While tests are imported and collected nothing becomes garbage, and looking for it takes a third of the time.
gc.disable()

# Other examples are tried in each run: five of each in `make test-fast`, a hundred in the long proof. No deadline: how long one
# takes says how busy the machine is.
hypothesis_settings.register_profile(
    "suite",
    parent=hypothesis_settings(),
    max_examples=whole_or(5 if IS_FAST else 20, whole=100),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
hypothesis_settings.load_profile("suite")


# Folders whose tests run web processes, workers or threads that wait for each other.
PROCESS_FOLDERS: Final = ("tests/end_to_end/", "tests/durability/")
# Tests that share what takes half a minute to set up: the fixture they ask for, or their files. They come first, where one process
# runs them one after the other: at the end of a run every process takes some of what is left, and would set it up again.
SHARED_PRODUCT: Final = "product"
SHARED_SETUP_MODULES: Final = ("tests/end_to_end/test_obedient_model",)


def pytest_xdist_auto_num_workers() -> int:
    """One more than there are cores: a tenth of the time a test waits, for a server, a lease or another thread."""
    return (os.cpu_count() or 1) + 1


def pytest_xdist_setupnodes() -> None:
    """The process that hands out tests runs none: traced, it only takes twice as long for it."""
    threading.settrace(None)
    sys.settrace(None)
    gc.enable()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Trace no test whose lines do not count."""
    with nullcontext() if is_traced(item) else without_tracing(), counted_statements(item.nodeid):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """To import the tests takes half as long untraced; all of the product is traced by who asks for it."""
    if EVERYTHING:
        return (yield)
    import_kernel()
    with without_tracing():
        return (yield)


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """`make test-fast` imports only files with tests that need no database."""
    if not IS_FAST or collection_path.suffix != ".py" or not collection_path.name.startswith("test_"):
        return None
    return "pytest.mark.pure" not in collection_path.read_text("utf-8") or None


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> Iterator[None]:
    """Mark what starts the product's own processes as slow, and let the slow ones begin: one that began last would run alone."""
    for item in items:
        if item.get_closest_marker("pure") and (
            item.get_closest_marker("django_db") or "db" in getattr(item, "fixturenames", ())
        ):
            raise pytest.UsageError(f"{item.nodeid} needs a database, so it may not be marked `pure`.")
        if item.nodeid.startswith(PROCESS_FOLDERS):
            item.add_marker(pytest.mark.slow)
    result = yield
    # Others order tests as well, pytest-django those that ask for `db` before all that do not.
    items.sort(key=_sort_key)
    return result


def _sort_key(item: pytest.Item) -> tuple[bool, bool, bool]:
    is_shared = SHARED_PRODUCT in getattr(item, "fixturenames", ())
    return not is_shared, not item.nodeid.startswith(SHARED_SETUP_MODULES), item.get_closest_marker("slow") is None


def pytest_collection_finish() -> None:
    """What was collected stays until the end: nobody need look whether it is garbage, and at the rest less often."""
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)
    gc.enable()


def pytest_testnodedown(node: Any) -> None:  # Any: xdist declares no type of it
    """A test process has ended; what it counted is summed up with the others'."""
    counts.update(getattr(node, "workeroutput", {}).get("counts", {}))


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Hand over what was counted, or fail the run that costs more than its limits."""
    if is_xdist_worker(session):
        session.config.workeroutput["counts"] = dict(counts)  # type: ignore[attr-defined]  # xdist's
    elif ARE_LIMITS_ENFORCED and exceeded_limits(counts, limits()) and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say what the run cost, in counts."""
    terminalreporter.section("counts")
    for name, count in sorted(counts.items()):
        terminalreporter.line(f"{count:7} {name}")
    for sentence in exceeded_limits(counts, limits()) if ARE_LIMITS_ENFORCED else ():
        terminalreporter.line(f"TOO MANY {sentence}", red=True)


@pytest.fixture(scope="session")
def postgres(django_db_blocker: DjangoDbBlocker) -> Iterator[Postgres]:
    """A server of this test process alone, or the one that `tests.proofs.mutants` lets stand."""
    if home := os.environ.get("STANDING_HOME", ""):
        standing = Postgres(Path(home), throwaway=True)
        standing.start()
        yield standing
        close_connections()
        return
    with ExitStack() as stack:
        with django_db_blocker.unblock(), without_tracing():
            server = stack.enter_context(ready_server())
            disable_autovacuum(server)
        yield server


@pytest.fixture(scope="session")
def template_database(postgres: Postgres) -> str:
    """The migrated database that others are cloned from."""
    if template := os.environ.get("STANDING_TEMPLATE", ""):
        point_to(postgres, template)
        settings.DATABASE_OWNER_URL = postgres.url_for("postgres", database=template)
        return template
    point_to(postgres, TEMPLATE)
    settings.DATABASE_OWNER_URL = postgres.url_for("postgres", database=TEMPLATE)
    return TEMPLATE


@pytest.fixture(scope="session")
def django_db_setup(postgres: Postgres, template_database: str, django_db_blocker: DjangoDbBlocker) -> str:
    """The database of tests that roll back, with the worlds that stand in it."""
    name = os.environ.get("STANDING_NAME", PREFIX)
    clone_database(postgres, template_database, name)
    if name == PREFIX:
        with django_db_blocker.unblock():
            COMMITTED_WORLDS.put_up(name, [make_world() for _ in range(3)])
    return name


@pytest.fixture(scope="session")
def standing_clones(
    postgres: Postgres, template_database: str, django_db_setup: str, django_db_blocker: DjangoDbBlocker
) -> Iterator[ClonePool]:
    """The databases of tests that commit."""
    clones = ClonePool(postgres, template_database)
    yield clones
    with django_db_blocker.unblock():
        clones.drop()


@pytest.fixture(autouse=True)
def standing_worlds() -> None:
    """Every test finds the worlds as they were put up."""
    COMMITTED_WORLDS.begin()
