"""Generates docs/policy.md from the policy table: acts by role, their fields, their surfaces, and database privileges."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from apps.governance.actors import Role
from apps.governance.database_drift.role_grants import rights_of_policy
from apps.governance.policy.policy_table import POLICY, PolicyRule
from apps.governance.policy.surface_conformance import acts_by_surface
from apps.launcher.data_folders import PROJECT

_HEAD: Final = """# Who may do what

This page lists, for auditors and administrators, every act of the product, the roles that may do it, the fields it writes, where it
is offered, and the matching rights in the database. `manage.py sync_policy --write-docs` writes it from the policy table in
`apps/governance/policy/policy_table.py`. Do not edit it by hand: `sync_policy --check` and a test fail when it is out of date.

## Acts by role

| value | meaning |
| --- | --- |
| yes | The act applies at once. |
| proposes | The act creates a proposal with the same content, which waits for a person. |
| no | The act is refused on every surface and by PostgreSQL, whatever grants somebody has. |

Grants can narrow these permissions and never widen them. The column *reviewers* is the number of people who must agree before a
proposal takes effect; the risk of the proposal may require more.
"""
_FIELDS_INTRODUCTION: Final = """
## What each act writes

Each governed field is a permission of its own: a tenant can allow an act and withhold one of its fields. Fields in brackets are
written only when the act creates the row. Stamped fields are set by the product; the caller cannot choose them.
"""
_SURFACES_HEADING: Final = """
## Where each act is offered
"""
_DATABASE_INTRODUCTION: Final = """
## Rights in the database

The policy table also determines the rights of the database roles that people (`operator`), agents (`agent`), workers (`worker`) and
platform staff (`staff`) run as. Row security narrows them further: to the tenant, to an agent's own rows, and in a turn to one
customer. Only the owner may truncate a table.
"""


def page_path() -> Path:
    """Return the path of the page in a checkout. Images contain no docs."""
    return PROJECT / "docs" / "policy.md"


def render_page() -> str:
    """Return the whole page."""
    return "".join(
        (
            _HEAD,
            _act_table(),
            _FIELDS_INTRODUCTION,
            _field_table(),
            _SURFACES_HEADING,
            _surface_table(),
            _DATABASE_INTRODUCTION,
            _database_rights_table(),
        )
    )


def page_drift() -> list[str]:
    """Return a sentence if the page is out of date."""
    if not page_path().parent.is_dir() or (
        page_path().is_file() and page_path().read_text(encoding="utf-8") == render_page()
    ):
        return []
    return ["docs/policy.md is out of date. Run `manage.py sync_policy --write-docs`."]


def _act_table() -> str:
    head = ("act", *(role.value for role in Role), "risk", "reviewers")
    rows = (
        (act.value, *(verdict(rule, role) for role in Role), rule.risk.value, str(rule.reviewers or "none"))
        for act, rule in POLICY.items()
    )
    return _table(head, rows)


def verdict(rule: PolicyRule, role: Role) -> str:
    """Return a role's permission for an act: `yes`, `proposes` or `no`."""
    return "yes" if role in rule.direct else "proposes" if role in rule.proposes else "no"


def _field_table() -> str:
    rows = (
        (act.value, rule.does.value, _code_list(_governed_fields(rule)), _code_list(rule.stamps))
        for act, rule in POLICY.items()
    )
    return _table(("act", "effect on the row", "governed fields", "stamped fields"), rows)


def _governed_fields(rule: PolicyRule) -> Iterator[str]:
    return (f"({name})" if name in rule.settled else name for name in rule.fields)


def _surface_table() -> str:
    rows = (
        (act.value, "; ".join(_surface_cells(ways)) or "only inside other acts")
        for act, ways in acts_by_surface().items()
    )
    return _table(("act", "where"), rows)


def _surface_cells(by_surface: dict[str, list[str]]) -> Iterator[str]:
    return (f"**{surface}** {', '.join(f'`{way}`' for way in ways)}" for surface, ways in sorted(by_surface.items()))


def _database_rights_table() -> str:
    held: dict[tuple[str, str], list[str]] = defaultdict(list)
    for right in sorted(rights_of_policy()):
        held[right.table, right.role].append(right.right)
    rows = ((f"`{table}`", role, *_rights_cells(rights)) for (table, role), rights in held.items())
    return _table(("table", "role", "inserts", "deletes", "updates"), rows)


def _rights_cells(rights: list[str]) -> tuple[str, str, str]:
    columns = [right.removeprefix("UPDATE (").removesuffix(")") for right in rights if right.startswith("UPDATE")]
    return ("yes" if "INSERT" in rights else "no", "yes" if "DELETE" in rights else "no", _code_list(columns))


def _code_list(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names) or "nothing"


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "\n" + "".join(f"| {' | '.join(line)} |\n" for line in lines)
