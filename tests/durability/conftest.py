"""Fixtures of the proofs that a worker may die at any line."""

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from pytest_django import DjangoDbBlocker

from apps.launcher.postgres import Postgres
from tests.durability.crash_scenarios import ExternalStage, open_external_stage
from tests.durability.forked_workers import CrashStage, open_stage
from tests.durability.invariants import watch
from tests.support.database.clone_pool import ClonePool
from tests.support.servers.standin_model import StandIn
from tests.support.servers.tool_server import ToolServerProcess, running_tool_server


@pytest.fixture
def raw(committing: str, postgres: Postgres) -> Iterator[psycopg.Connection[Any]]:
    """The committing database as superuser, with a log of what turns do."""
    with psycopg.connect(postgres.url_for("postgres", database=committing)) as connection:
        watch(connection)
        yield connection


@pytest.fixture(scope="module")
def stage(
    postgres: Postgres,
    standing_clones: ClonePool,
    django_db_setup: str,
    django_db_blocker: DjangoDbBlocker,
    standing_in: StandIn,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[CrashStage]:
    """A stage for workers that die, in a database of its own. A module's tests share it: each plays with customers of its own."""
    standing_in.forget()
    with (
        django_db_blocker.unblock(),
        standing_clones.lend(django_db_setup) as name,
        open_stage(postgres, name, standing_in, tmp_path_factory.mktemp("stage")) as stage,
    ):
        yield stage


@pytest.fixture(scope="module")
def served() -> Iterator[ToolServerProcess]:
    """A tool server of the module's own: every refund that it has seen is one of these scenes', made once."""
    with running_tool_server() as server:
        yield server


@pytest.fixture(scope="module")
def wires(stage: CrashStage, served: ToolServerProcess) -> Iterator[ExternalStage]:
    """The stage, and an agent on it with tools of others, another agent to ask and a webhook."""
    with open_external_stage(stage, served) as wires:
        yield wires
