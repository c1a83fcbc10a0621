"""Many clients of several tenants at once over shared connections; every row and setting that is not one's own is counted."""

import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass

from django.db import DatabaseError, connection, connections, transaction
from psycopg.errors import InsufficientPrivilege

from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting_as, execute_as
from apps.memory.actions import amend_profile
from apps.memory.models import CustomerProfile
from apps.skills.models import Skill
from tests.support.worlds.world import World, make_memory, make_persona, make_profile, make_skill, make_world

CLIENTS = 64
TENANTS = 8
# A client's request ends about as often as it goes on, so that connections change hands.
REQUESTS_PER_CONNECTION = 3
VISIBLE_ROWS = """
SELECT 'skill', tenant_id, count(*) FROM skills_skill GROUP BY tenant_id
UNION ALL SELECT 'persona', tenant_id, count(*) FROM personas_persona GROUP BY tenant_id
UNION ALL SELECT 'memory', tenant_id, count(*) FROM memory_agentmemory GROUP BY tenant_id
UNION ALL SELECT 'profile', tenant_id, count(*) FROM memory_customerprofile GROUP BY tenant_id
"""
CURRENT_SETTINGS = (
    "SELECT current_setting('role'), coalesce(current_setting('app.tenant', true), ''),"
    " coalesce(current_setting('app.agent', true), ''), coalesce(current_setting('app.customer', true), '')"
)


@dataclass(frozen=True)
class PooledTenant:
    """A tenant with rows, and those who act for it."""

    world: World
    profile: CustomerProfile

    @property
    def actors(self) -> Sequence[Actor]:
        """One for each database role, and the agent in a turn."""
        world = self.world
        return (world.operator, world.bot, world.system, world.bot.serving(self.profile.end_user_key))


class RequestAborted(Exception):
    """What a client's request ends with when it fails on purpose."""


def make_tenants(tenants: int = TENANTS) -> list[PooledTenant]:
    """Tenants with a row of everything that is asked for, under the same names in each."""
    made = []
    for _ in range(tenants):
        world = make_world()
        make_persona(world)
        make_memory(world)
        make_skill(world, "approved")
        made.append(PooledTenant(world, make_profile(world)))
    return made


def interleave(inhabitants: Sequence[PooledTenant], requests: int, seed: int = 1) -> Counter[str]:
    """All clients at once; what they counted. `foreign` has to be nothing, and every kind of request has to occur."""
    shares = [requests // CLIENTS + (client < requests % CLIENTS) for client in range(CLIENTS)]
    with ThreadPoolExecutor(CLIENTS) as clients:
        counted = clients.map(lambda share: _client(inhabitants, *share), [(seed, *each) for each in enumerate(shares)])
        return sum(counted, Counter())


def _client(inhabitants: Sequence[PooledTenant], seed: int, client: int, requests: int) -> Counter[str]:
    chance = random.Random(seed * 1000 + client)
    counted: Counter[str] = Counter()
    kinds = list(KINDS)
    try:
        for number in range(requests):
            kind = chance.choice(kinds)
            mine, theirs = chance.sample(inhabitants, 2)
            counted[kind] += 1
            counted["requests"] += 1
            KINDS[kind](mine, theirs, chance, counted)
            if number % REQUESTS_PER_CONNECTION == 0:
                connections["default"].close()
    finally:
        connections["default"].close()
    return counted


def _count_visible_rows(actor: Actor, counted: Counter[str]) -> None:
    """Everything there is to see, without a filter of ours."""
    with connection.cursor() as cursor:
        cursor.execute(VISIBLE_ROWS)
        _count_foreign_rows(actor, cursor.fetchall(), counted)


def _count_foreign_rows(actor: Actor, rows: Sequence[tuple[str, int, int]], counted: Counter[str]) -> None:
    counted["foreign"] += sum(tenant_id != actor.tenant_id for _, tenant_id, _ in rows)
    counted["blind"] += {kind for kind, _, _ in rows} != {"skill", "persona", "memory", "profile"}


def _read(mine: PooledTenant, theirs: PooledTenant, chance: random.Random, counted: Counter[str]) -> None:
    actor = chance.choice(mine.actors)
    with acting_as(actor):
        _count_visible_rows(actor, counted)
        counted["foreign"] += Skill.objects.filter(tenant_id=theirs.world.tenant.pk).count()


def _read_one_shot(mine: PooledTenant, theirs: PooledTenant, chance: random.Random, counted: Counter[str]) -> None:
    """The same by a statement that the server planned for whoever had this connection first."""
    actor = chance.choice(mine.actors)
    _count_foreign_rows(actor, execute_as(actor, VISIBLE_ROWS, {}), counted)


def _write(mine: PooledTenant, theirs: PooledTenant, chance: random.Random, counted: Counter[str]) -> None:
    actor = chance.choice((mine.world.operator, mine.world.system))
    note = f"tenant {actor.tenant_id}"
    with transaction.atomic():
        amend_profile(mine.profile, actor=actor, values={"notes": f"{note}, number {chance.random()}"})
    with acting_as(actor):
        notes = CustomerProfile.objects.values_list("notes", flat=True)
        counted["foreign"] += sum(not each.startswith(note) for each in notes)


def _abort_request(mine: PooledTenant, theirs: PooledTenant, chance: random.Random, counted: Counter[str]) -> None:
    with suppress(RequestAborted), acting_as(chance.choice(mine.actors)):
        with suppress(DatabaseError), transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SELECT 1 / 0")
        raise RequestAborted


def _savepoint(mine: PooledTenant, theirs: PooledTenant, chance: random.Random, counted: Counter[str]) -> None:
    """Another actor inside, rolled back or released: afterwards the outer one acts again."""
    outer, inner = chance.choice(mine.actors), chance.choice(theirs.actors)
    with acting_as(outer):
        with suppress(RequestAborted), acting_as(inner):
            _count_visible_rows(inner, counted)
            if chance.random() < 0.5:
                raise RequestAborted
        _count_visible_rows(outer, counted)


def _read_without_tenant(
    mine: PooledTenant, theirs: PooledTenant, chance: random.Random, counted: Counter[str]
) -> None:
    """Without a tenant the connection remembers nothing and reads nothing."""
    with connection.cursor() as cursor:
        cursor.execute(CURRENT_SETTINGS)
        counted["foreign"] += cursor.fetchone() != ("none", "", "", "")
        try:
            cursor.execute("SELECT count(*) FROM skills_skill")
            counted["foreign"] += 1
        except DatabaseError as refusal:
            counted["refused"] += isinstance(refusal.__cause__, InsufficientPrivilege)


KINDS: Mapping[str, Callable[[PooledTenant, PooledTenant, random.Random, Counter[str]], None]] = {
    "read": _read,
    "one shot": _read_one_shot,
    "write": _write,
    "abandon": _abort_request,
    "savepoint": _savepoint,
    "nobody": _read_without_tenant,
}
