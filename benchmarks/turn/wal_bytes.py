"""WAL bytes of a turn: the bytes written to the server's log by table, for the product and for the plain loop.

`python -m benchmarks.turn.wal_bytes` takes turns as `benchmarks.turn.__main__` does and reads what the server wrote with
`pg_waldump`, without the whole pages that follow a checkpoint. `--records` names each index and each kind of record.
"""

import argparse
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psycopg
from rich.console import Console
from rich.table import Table

from apps.llm.anthropic.sync_client import AnthropicBackend
from apps.llm.model_backend import ModelBackend
from benchmarks.turn.benchmark_setup import TurnRunner, TurnTestbed, ground
from benchmarks.turn.measurement import measure_turn
from benchmarks.turn.overhead import WALLED, sample_request
from benchmarks.turn.product_turn import ProductTurnRunner, make_database
from benchmarks.turn.raw_sql_turn import DATABASE, RawTurnRunner, make_tables
from tests.settings import PREFIX

RECORD = re.compile(r"rmgr: (\S+) +len \(rec/tot\): *\d+/ *(\d+), .* lsn: (\w+)/(\w+), prev \S+, desc: (\w+)(.*)")
RELATION = re.compile(r"rel \d+/\d+/(\d+)")
# Each record starts at a multiple of eight bytes.
WAL_ALIGNMENT = 8
RELATION_NAMES = """
SELECT pg_relation_filenode(found.oid), found.relname, coalesce(indexed.relname, toasted.relname, found.relname)
  FROM pg_class AS found
  LEFT JOIN pg_index AS index ON index.indexrelid = found.oid
  LEFT JOIN pg_class AS indexed ON indexed.oid = index.indrelid
  LEFT JOIN pg_class AS toasted ON toasted.reltoastrelid = found.oid
 WHERE found.relkind IN ('r', 'i', 't', 'S')
"""


@dataclass(frozen=True, slots=True)
class WalRecord:
    """A record of the log: its table, the table itself or an index, and its kind."""

    table: str
    relation: str
    kind: str

    @property
    def column(self) -> str:
        """The column of the printed table that counts this record."""
        if self.kind.endswith("/LOCK"):
            return "locks"
        if self.kind.startswith(("Btree/", "Gin/")):
            return "indexes"
        return "rows" if self.kind.startswith("Heap") else "other"


def measure_wal(
    place: TurnTestbed, runner: TurnRunner, backend: ModelBackend, database: str, turns: int
) -> Counter[WalRecord]:
    """Return the WAL bytes per turn of a running session, record by record."""
    stretches = []
    for number in range(1, turns + 2):
        taken = measure_turn(place, runner, backend, WALLED, number)
        stretches.append((taken.wal_begun, taken.wal_begun + taken.wal_bytes))
    found: Counter[WalRecord] = Counter()
    for at, size, record in _records(place, database, stretches[1][0], stretches[-1][1]):
        if any(begun <= at < ended for begun, ended in stretches[1:]):
            found[record] += size
    return found


def _records(place: TurnTestbed, database: str, begun: int, ended: int) -> Iterator[tuple[int, int, WalRecord]]:
    with psycopg.connect(place.server.url_for("postgres", database=database), autocommit=True) as owner:
        named = {str(number): (relation, table) for number, relation, table in owner.execute(RELATION_NAMES)}
        [data] = owner.execute("SHOW data_directory").fetchone() or ("",)
        # Flushed completely, so that the reader finds its end.
        owner.execute("SELECT pg_switch_wal()")
    command = [str(_waldump_path(place)), "--path", f"{data}/pg_wal", "--start", _lsn(begun), "--end", _lsn(ended)]
    read = subprocess.run(command, capture_output=True, text=True, check=True)  # the server's own program
    for line in read.stdout.splitlines():
        if record := RECORD.match(line):
            size = -(-int(record[2]) // WAL_ALIGNMENT) * WAL_ALIGNMENT
            relation = RELATION.search(record[6])
            name, table = named.get(relation[1] if relation else "", ("", "(commits)"))
            yield (
                (int(record[3], 16) << 32) + int(record[4], 16),
                size,
                WalRecord(table, name, f"{record[1]}/{record[5]}"),
            )


def _waldump_path(place: TurnTestbed) -> Path:
    """Return the program beside the server's own, at a path from which it is known to run."""
    server = place.server.child
    if server is None:
        raise RuntimeError("Only a server that this run started has its log read.")
    return Path(f"/proc/{server.pid}/exe").resolve().with_name("pg_waldump")


def _lsn(position: int) -> str:
    return f"{position >> 32:X}/{position & 0xFFFFFFFF:X}"


def by_table(title: str, found: Counter[WalRecord], turns: int) -> Table:
    columns = ("rows", "indexes", "locks", "other")
    shown = Table("bytes of a turn", *columns, "in all", title=title)
    tables = Counter[str]()
    for record, size in found.items():
        tables[record.table] += size
    for table, whole in [*tables.most_common(), ("in all", found.total())]:
        mine = [(record, size) for record, size in found.items() if table in {record.table, "in all"}]
        cells = (sum(size for record, size in mine if record.column == column) for column in columns)
        shown.add_row(table, *(f"{cell / turns:,.0f}" if cell else "" for cell in cells), f"{whole / turns:,.0f}")
    return shown


def by_record(found: Counter[WalRecord], turns: int) -> Table:
    shown = Table("table", "table or index", "record", "bytes of a turn")
    for record, size in sorted(found.items(), key=lambda each: (each[0].table, -each[1])):
        shown.add_row(record.table, record.relation, record.kind, f"{size / turns:,.0f}")
    return shown


def main() -> int:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--turns", type=int, default=30, help="how many turns are divided by (default 30)")
    asked.add_argument("--records", action="store_true", help="each index and each kind of record")
    options = asked.parse_args()
    console = Console(width=120)
    with ground() as place:
        make_database(place)
        make_tables(place)
        backend = AnthropicBackend("none", base_url=place.standin_url)
        product = ProductTurnRunner()
        raw = RawTurnRunner(place, sample_request(place, product, backend), product.skill.body)
        place.configure(synchronous_commit="off", full_page_writes="off")
        runners: tuple[tuple[TurnRunner, str], ...] = ((raw, DATABASE), (product, PREFIX))
        for runner, database in runners:
            found = measure_wal(place, runner, backend, database, options.turns)
            console.print(by_table(runner.name, found, options.turns))
            if options.records:
                console.print(by_record(found, options.turns))
        raw.shut()
        product.shut()
        backend.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
