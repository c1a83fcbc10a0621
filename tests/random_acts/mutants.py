"""One protection taken away, so that the machine has something to find."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import psycopg

from apps.memory.models import AgentMemory
from tests.settings import PREFIX


def _sql_mutant(*statements: str) -> Callable[["psycopg.Connection[Any]"], AbstractContextManager[None]]:
    @contextmanager
    def mutated(observing: "psycopg.Connection[Any]") -> Iterator[None]:
        for statement in statements:
            observing.execute(statement.format(agent=f"{PREFIX}_agent", worker=f"{PREFIX}_worker").encode())
        yield

    return mutated


@contextmanager
def _all_memory_approved(observing: "psycopg.Connection[Any]") -> Iterator[None]:
    del observing
    sound = AgentMemory.is_approved
    AgentMemory.is_approved = property(lambda _: True)  # type: ignore[assignment]  # the mutation
    try:
        yield
    finally:
        AgentMemory.is_approved = sound  # type: ignore[method-assign]


MUTANTS: Mapping[str, Callable[["psycopg.Connection[Any]"], AbstractContextManager[None]]] = {
    # The rights of a database role, which alone stand below the product.
    "rights": _sql_mutant(
        "GRANT UPDATE ON personas_standingrule TO {agent}",
        "CREATE POLICY mutant ON personas_standingrule FOR UPDATE TO {agent} USING (true) WITH CHECK (true)",
    ),
    # The fence around what no person approved.
    "fence": _all_memory_approved,
    # Row security of one table.
    "row security": _sql_mutant("ALTER TABLE memory_agentmemory DISABLE ROW LEVEL SECURITY"),
    # The books of refused attempts.
    "refusals": _sql_mutant(
        "CREATE FUNCTION forget() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'",
        "CREATE TRIGGER a_mutant BEFORE INSERT ON governance_refusal FOR EACH ROW EXECUTE FUNCTION forget()",
    ),
    # The chain over the books.
    "chain": _sql_mutant("ALTER TABLE governance_changerecord DISABLE TRIGGER USER"),
    # What was frozen.
    "frozen": _sql_mutant(
        "GRANT SELECT, UPDATE ON runtime_snapshotpart TO {agent}",
        "ALTER TABLE runtime_snapshotpart DISABLE ROW LEVEL SECURITY",
        "ALTER TABLE runtime_snapshotpart DISABLE TRIGGER USER",
    ),
}


def remove_protection(name: str, observing: "psycopg.Connection[Any]") -> AbstractContextManager[None]:
    """Without the protection of this name; with all of them where none is named."""
    return MUTANTS[name](observing) if name else nullcontext()
