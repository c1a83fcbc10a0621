"""What machines ask of a process: whether it lives, whether it can serve, and what it counts."""

import re
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import DatabaseError, connections
from django.test import Client
from prometheus_client.openmetrics import parser as openmetrics
from pytest_django import Settings

from apps.governance.database.actor_transaction import acting_as
from apps.governance.models import Proposal
from apps.launcher.child_processes import wait_until
from apps.operations.check_threads import NO_ANSWER, NOT_CHECKED, PartChecks
from apps.operations.metrics import metric_families, read_gauges, serve_metrics_endpoint
from apps.operations.readiness import HEALTHY, broker_checks, database_checks, security_drift_check
from apps.runtime.health.beat_monitor import beat_intervals, record_run, register_beat_tasks
from tests.support.factories.bulk_decisions import waiting_draft
from tests.support.factories.expired_proposals import let_run_out
from tests.support.timeouts import PATIENCE_SECONDS
from tests.support.worlds.world import make_event, make_world

TOKEN = "a token of the scraper"


@pytest.fixture(autouse=True)
def looked_anew() -> Iterator[None]:
    forget_checks()
    yield
    forget_checks()


def forget_checks() -> None:
    for each in (security_drift_check, database_checks, broker_checks):
        each.forget()


def read_readiness(client: Client) -> Any:  # Any: Django types the test client's responses so
    """The answer, once every part was checked: a busy machine may need more than one request."""
    answers: list[Any] = []

    def is_complete() -> bool:
        answers.append(client.get("/readyz"))
        return not {NO_ANSWER, NOT_CHECKED} & set(answers[-1].json()["parts"].values())

    assert wait_until(is_complete, PATIENCE_SECONDS)
    return answers[-1]


def test_a_process_is_alive_without_a_database(client: Client) -> None:
    # No `db`: a test that touches the database without asking for it fails.
    assert client.get("/healthz").content == b"ok\n"


def test_without_the_broker_an_installation_is_degraded_and_ready(db: None, client: Client, settings: Settings) -> None:
    settings.CELERY_BROKER_URL = "redis://127.0.0.1:1/0"
    answer = read_readiness(client)
    assert (answer.status_code, answer.json()["status"]) == (200, "degraded")
    parts = answer.json()["parts"]
    assert {name: parts[name] for name in ("database", "migrations", "walls")} == dict.fromkeys(
        ("database", "migrations", "walls"), "well"
    )
    assert parts["broker"].startswith("cannot be reached")
    assert answer.headers["Cache-Control"] == "no-store"


@pytest.mark.parametrize(
    ("statement", "part", "says"),
    [
        ("DELETE FROM django_migrations WHERE app = 'governance' AND name LIKE '0003%'", "migrations", "1 migrations"),
        (
            "ALTER TABLE skills_skill NO FORCE ROW LEVEL SECURITY",
            "walls",
            "2 policies, triggers or rights are not as declared",
        ),
    ],
)
def test_with_another_database_than_this_release_needs_it_is_not_ready(
    committing: str, client: Client, statement: str, part: str, says: str
) -> None:
    as_owner(statement)
    answer = read_readiness(client)
    assert (answer.status_code, answer.json()["status"]) == (503, "not ready")
    assert says in answer.json()["parts"][part]


def test_where_the_beat_does_not_ring_an_installation_is_degraded_and_counted(committing: str, client: Client) -> None:
    assert (
        read_readiness(client).json()["parts"]["beat"]
        == f"{len(beat_intervals())} of {len(beat_intervals())} alarms are overdue"
    )
    assert values_of("periodic_tasks", "state") == {"never": len(beat_intervals())}
    register_beat_tasks()
    record_run("apps.notifications.tasks.sweep")
    record_run("apps.notifications.tasks.send_notice")
    with connections["default"].cursor() as cursor:
        cursor.execute(
            "UPDATE runtime_periodictask SET last_run_at = now() - interval '2 hours', registered_at = now() - interval '2 days'"
            " WHERE task = 'apps.review.tasks.sweep_bulk'"
        )
    answer = read_readiness(client)
    assert (answer.status_code, answer.json()["parts"]["beat"]) == (
        200,
        f"1 of {len(beat_intervals())} alarms are overdue",
    )
    assert values_of("periodic_tasks", "state") == {"late": 1, "on_time": len(beat_intervals()) - 1}
    overdue = values_of("periodic_task_overdue_seconds", "task")
    assert 7130 < overdue["apps.review.tasks.sweep_bulk"] < 7150
    assert overdue["apps.notifications.tasks.sweep"] == 0


def test_a_check_that_hangs_delays_nobody_and_keeps_one_thread() -> None:
    thawed, begun = threading.Event(), []

    def check_parts() -> Iterator[tuple[str, str]]:
        begun.append(True)
        thawed.wait(PATIENCE_SECONDS)
        yield "server", HEALTHY
        yield "schema", HEALTHY

    checks = PartChecks(("server", "schema"), check_parts)
    run = checks.begin()
    assert checks.results(run) == {"server": NO_ANSWER}
    assert (checks.begin(), len(begun)) == (run, 1)
    thawed.set()
    assert run.has_ended.wait(PATIENCE_SECONDS)
    assert checks.results(run) == {"server": HEALTHY, "schema": HEALTHY}


def test_a_later_check_that_is_slow_keeps_its_last_result() -> None:
    waits = [threading.Event() for _ in range(3)]
    runs, reached = iter(waits), threading.Event()

    def check_parts() -> Iterator[tuple[str, str]]:
        waiting = next(runs)
        yield "server", HEALTHY
        reached.set()
        waiting.wait(PATIENCE_SECONDS)
        yield "schema", HEALTHY

    checks = PartChecks(("server", "schema"), check_parts)
    for before, waiting in ((NOT_CHECKED, waits[0]), (HEALTHY, waits[1])):
        reached.clear()
        run = checks.begin()
        assert reached.wait(PATIENCE_SECONDS)
        assert checks.results(run) == {"server": HEALTHY, "schema": before}
        waiting.set()
        assert run.has_ended.wait(PATIENCE_SECONDS)


def test_a_check_that_raises_is_no_answer() -> None:
    def check_parts() -> Iterator[tuple[str, str]]:
        yield "server", {"other": HEALTHY}["server"]

    checks = PartChecks(("server",), check_parts)
    run = checks.begin()
    assert run.has_ended.wait(PATIENCE_SECONDS)
    assert checks.results(run) == {"server": NO_ANSWER}


def values_of(name: str, label: str) -> dict[str, float]:
    """A figure's values by its label, tenants added up."""
    [family] = [each for each in metric_families(read_gauges(), by_tenant=False) if each.name == f"preceptor_{name}"]
    return {sample.labels[label]: sample.value for sample in family.samples}


def fetch_body(url: str, headers: dict[str, str]) -> bytes:
    asked = urllib.request.Request(url, headers=headers)  # noqa: S310  # our own loopback server
    with urllib.request.urlopen(asked, timeout=5) as answer:  # noqa: S310  # the same
        return bytes(answer.read())


def as_owner(statement: str) -> None:
    with connections["owner"].cursor() as cursor:
        cursor.execute(statement)


@pytest.mark.django_db
def test_metrics_require_the_token(client: Client, settings: Settings) -> None:
    assert client.get("/metrics").status_code == 404
    settings.METRICS_TOKEN = TOKEN
    for given in ("", "Bearer another", f"Basic {TOKEN}", "Bearer "):
        assert client.get("/metrics", headers={"Authorization": given}).status_code == 404
    answer = client.get("/metrics", headers={"Authorization": f"Bearer {TOKEN}"})
    assert (answer.status_code, answer.headers["Content-Type"][:10]) == (200, "text/plain")
    assert "# TYPE preceptor_http_requests_total counter" in answer.content.decode()
    assert "preceptor_database_up 1.0" in answer.content.decode()


@pytest.mark.django_db
def test_a_scraper_that_reads_openmetrics_gets_it(client: Client, settings: Settings) -> None:
    settings.METRICS_TOKEN = TOKEN
    asked = {"Authorization": f"Bearer {TOKEN}", "Accept": "application/openmetrics-text; version=1.0.0"}
    answer = client.get("/metrics", headers=asked)
    assert answer.headers["Content-Type"].startswith("application/openmetrics-text; version=1.0.0")
    read: Any = openmetrics.text_string_to_metric_families  # the library leaves it untyped
    names = {family.name for family in read(answer.content.decode())}
    assert {"preceptor_http_requests", "preceptor_waiting", "preceptor_spent_tokens"} <= names


@pytest.mark.django_db
def test_without_a_database_a_process_tells_its_own_counts(client: Client, settings: Settings) -> None:
    settings.METRICS_TOKEN = TOKEN
    with pytest.raises(DatabaseError), connections["default"].cursor() as cursor:
        cursor.execute("SELECT 1 / 0")
    # From here on PostgreSQL refuses every statement of this transaction.
    metrics = client.get("/metrics", headers={"Authorization": f"Bearer {TOKEN}"}).content.decode()
    assert "preceptor_database_up 0.0" in metrics
    assert "# TYPE preceptor_http_requests_total counter" in metrics
    assert "preceptor_waiting" not in metrics


@pytest.mark.django_db
def test_what_waits_is_counted_across_tenants_and_nobody_is_named(client: Client, settings: Settings) -> None:
    world, other = make_world(), make_world()
    make_event(world)
    make_event(other)
    waiting_draft(world)
    settings.METRICS_TOKEN = TOKEN
    metrics = client.get("/metrics", headers={"Authorization": f"Bearer {TOKEN}"}).content.decode()
    assert re.search(r'^preceptor_waiting\{kind="turns"\} [2-9]', metrics, re.MULTILINE)
    assert re.search(r'^preceptor_waiting_oldest_seconds\{kind="turns"\} \d', metrics, re.MULTILINE)
    assert re.search(r'^preceptor_review_open\{kind="proposal"\} [1-9]', metrics, re.MULTILINE)
    assert world.tenant.key not in metrics
    settings.METRICS_TENANTS = True
    named = client.get("/metrics", headers={"Authorization": f"Bearer {TOKEN}"}).content.decode()
    assert f'preceptor_waiting{{kind="turns",tenant="{world.tenant.key}"}} 1.0' in named
    assert f'preceptor_review_open{{kind="proposal",tenant="{world.tenant.key}"}} 1.0' in named
    with acting_as(world.operator):
        let_run_out(Proposal.objects.visible_to(world.operator).open().get(), world)
    later = client.get("/metrics", headers={"Authorization": f"Bearer {TOKEN}"}).content.decode()
    assert f'preceptor_review_open{{kind="proposal",tenant="{world.tenant.key}"}}' not in later


def test_workers_tell_their_counts_at_a_port_of_their_own(settings: Settings) -> None:
    settings.METRICS_LISTEN = ""
    assert serve_metrics_endpoint() is None
    settings.METRICS_LISTEN, settings.METRICS_TOKEN = "127.0.0.1:0", TOKEN
    server = serve_metrics_endpoint()
    assert server is not None
    try:
        url = f"http://127.0.0.1:{server.server_port}/metrics"
        assert b"# TYPE preceptor_turns_total counter" in fetch_body(url, {"Authorization": f"Bearer {TOKEN}"})
        with pytest.raises(urllib.error.HTTPError, match="404"):
            fetch_body(url, {})
        taken = f"127.0.0.1:{server.server_port}"
        settings.METRICS_LISTEN = taken
        assert serve_metrics_endpoint() is None
    finally:
        server.shutdown()
        server.server_close()
