"""One running product for all stories of a test process that need a web process and a worker with the usual settings.

A story makes tenants of its own, and may kill or stop a process: the next one finds it started again. A story must not share the
product if it changes what the next one needs, such as settings or the broker. It starts an `own_product`.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Final

import psycopg
import pytest
from psycopg import sql

from apps.kill_switches.actions import activate_kill_switch
from apps.kill_switches.models import KillSwitch
from apps.launcher.child_processes import wait_until
from apps.launcher.postgres import Postgres
from apps.tenants.authentication.actor_resolution import system_actor
from tests.settings import PREFIX
from tests.support.database.clones import clone_database, close_connections, point_to, run_as_superuser
from tests.support.servers.running_product import RunningProduct, prepare_product
from tests.support.timeouts import PATIENCE_SECONDS

DATABASE: Final = f"{PREFIX}_product"
_HAS_FAILED = pytest.StashKey[bool]()
_SHARED = pytest.StashKey["SharedProduct"]()
_ACTIVE_TENANTS = """
SELECT id FROM tenants_tenant WHERE NOT EXISTS (
    SELECT FROM kill_switches_killswitch WHERE tenant_id = tenants_tenant.id AND reason = %s)
"""
_STOP_REASON = "The story is over."


class SharedProduct:
    """The product of this test process. It starts for the first story that needs it, and ends before a test that does not."""

    def __init__(self, postgres: Postgres, template: str, *, with_beat: bool = False) -> None:
        self.postgres = postgres
        self.template = template
        self.with_beat = with_beat
        self.product: RunningProduct | None = None
        self._open = ExitStack()

    @contextmanager
    def lend(self, back_to: str) -> Iterator[RunningProduct]:
        """Lend the product, complete and idle, until the story ends; Django's connections go to its database and back again."""
        try:
            product = self.product or self._start_product()
            close_connections()
            point_to(self.postgres, DATABASE)
            self._repair(product)
            settings = dict(product.env)
            yield product
            assert product.env == settings, "A story that changes what a process is told starts a product of its own."
            self._pause_tenants(product)
        except BaseException:
            self.end()
            raise
        finally:
            close_connections()
            point_to(self.postgres, back_to)

    def end(self) -> None:
        """Stop the product and drop its database; then check logs and broker for words that no story may leave there."""
        self.product = None
        self._open.close()

    def _start_product(self) -> RunningProduct:
        clone_database(self.postgres, self.template, DATABASE)
        self._open.callback(self._drop_database)
        product = self._open.enter_context(prepare_product(DATABASE, self.postgres))
        self._open.callback(product.expect_unspoken)
        self._open.callback(product.stop)
        # A worker that is stopped gives its turns back after a second.
        product.env["TURN_DRAIN_SECONDS"] = "1"
        product.start_web()
        product.start_worker(is_checked=True)
        self.product = product
        return product

    def _repair(self, product: RunningProduct) -> None:
        """Start the processes that the last story ended."""
        starts: dict[str, Callable[[], None]] = {"web": product.start_web, "worker": product.start_worker}
        if self.with_beat:
            starts["beat"] = partial(product.start_beat, settings="tests.support.servers.hurried_settings")
        for name, start in starts.items():
            if not product.is_running(name):
                start()
        product.await_ready()

    def _pause_tenants(self, product: RunningProduct) -> None:
        """Stop the agents of the story from answering and learning, and reset the model."""
        with psycopg.connect(self.postgres.url_for("postgres", database=DATABASE)) as raw:
            tenants = [int(tenant_id) for (tenant_id,) in raw.execute(_ACTIVE_TENANTS, [_STOP_REASON])]
        for tenant_id in tenants:
            for kind in (KillSwitch.Kind.PAUSE_AGENT, KillSwitch.Kind.FREEZE_LEARNING):
                activate_kill_switch(kind, actor=system_actor(tenant_id), reason=_STOP_REASON)
        product.standin.forget()
        assert wait_until(lambda: product.standin.bill()["in_flight"] == 0, PATIENCE_SECONDS, 0.05)
        product.standin.forget()

    def _drop_database(self) -> None:
        close_connections()
        run_as_superuser(self.postgres, sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(DATABASE)))


@contextmanager
def share_product(shared: SharedProduct, config: pytest.Config) -> Iterator[SharedProduct]:
    """Let the hooks below end the product as soon as nothing needs it."""
    config.stash[_SHARED] = shared
    yield shared
    del config.stash[_SHARED]
    shared.end()


def uses_shared_product(item: pytest.Item | None) -> bool:
    """Return whether a test runs on the shared product."""
    return item is not None and "product" in getattr(item, "fixturenames", ())


def has_failed(item: pytest.Item) -> bool:
    """Return whether the test failed, as far as it ran."""
    return item.stash.get(_HAS_FAILED, False)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    """Remember which story failed: no other story uses the product after it."""
    report = yield
    if report.failed:  # type: ignore[attr-defined]  # a wrapper is given the report
        item.stash[_HAS_FAILED] = True
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> Iterator[None]:
    """End the product after a failed story, and before a test that does not use it."""
    result = yield
    shared = item.config.stash.get(_SHARED, None)
    if shared is not None and uses_shared_product(item) and (has_failed(item) or not uses_shared_product(nextitem)):
        shared.end()
    return result
