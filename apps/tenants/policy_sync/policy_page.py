"""The policy as a page for people who audit: who may do what, where, and what the database itself lets through."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from apps.governance.actors import Role
from apps.governance.database_drift.role_grants import rights_of_policy
from apps.governance.policy.surface_conformance import offers
from apps.governance.policy.table import POLICY, Rule
from apps.launcher.data_folders import PROJECT

_HEAD: Final = """# Who may do what

This page is written by `manage.py sync_policy --write-docs` from the policy table in `apps/governance/policy/table.py`.
Nobody edits it; `sync_policy --check` and a test fail when it is out of date.

**yes**: the act applies at once. **proposes**: the same content becomes a proposal and waits for a person. **no**: refused on every
surface, whatever grants somebody holds, and by PostgreSQL below. Grants narrow what stands here and never widen it.

## Acts by role

Reviewers is how many people must agree before what was brought takes effect; a proposal's own risk may ask for more.
"""
_FIELDS: Final = """
## What each act writes

Governed fields are permissions of their own: a tenant can let somebody act and keep a field back. Fields in brackets are written
only when the row is made. What an act stamps beside them, nobody chooses.
"""
_OFFERED: Final = """
## Where each act is offered
"""
_DATABASE: Final = """
## What the database lets through

The same table, as rights of the roles that people (`operator`), agents (`agent`), workers (`worker`) and platform staff (`staff`)
run as. Row security narrows them further: to the tenant, to an agent's own rows, in a turn to one customer. Nobody but the owner
may truncate a table.
"""


def path() -> Path:
    """Where the page stands in a checkout; an image has no docs."""
    return PROJECT / "docs" / "policy.md"


def page() -> str:
    """The whole page."""
    return "".join((_HEAD, _acts(), _FIELDS, _written(), _OFFERED, _places(), _DATABASE, _rights()))


def page_drift() -> list[str]:
    """Whether the page says what the policy says."""
    if not path().parent.is_dir() or (path().is_file() and path().read_text(encoding="utf-8") == page()):
        return []
    return ["docs/policy.md: not what the policy says any more. Run `manage.py sync_policy --write-docs`."]


def _acts() -> str:
    head = ("act", *(role.value for role in Role), "risk", "reviewers")
    rows = (
        (act.value, *(verdict(rule, role) for role in Role), rule.risk.value, str(rule.reviewers or "none"))
        for act, rule in POLICY.items()
    )
    return _table(head, rows)


def verdict(rule: Rule, role: Role) -> str:
    """What a role may, in a word."""
    return "yes" if role in rule.direct else "proposes" if role in rule.proposes else "no"


def _written() -> str:
    rows = (
        (act.value, rule.does.value, _listed(_governed(rule)), _listed(rule.stamps)) for act, rule in POLICY.items()
    )
    return _table(("act", "does to the row", "governed fields", "stamps"), rows)


def _governed(rule: Rule) -> Iterator[str]:
    return (f"({name})" if name in rule.settled else name for name in rule.fields)


def _places() -> str:
    rows = ((act.value, "; ".join(_ways(ways)) or "inside other acts") for act, ways in offers().items())
    return _table(("act", "where"), rows)


def _ways(by_surface: dict[str, list[str]]) -> Iterator[str]:
    return (f"**{surface}** {', '.join(f'`{way}`' for way in ways)}" for surface, ways in sorted(by_surface.items()))


def _rights() -> str:
    held: dict[tuple[str, str], list[str]] = defaultdict(list)
    for right in sorted(rights_of_policy()):
        held[right.table, right.role].append(right.right)
    rows = ((f"`{table}`", role, *_split(rights)) for (table, role), rights in held.items())
    return _table(("table", "role", "inserts", "deletes", "updates"), rows)


def _split(rights: list[str]) -> tuple[str, str, str]:
    columns = [right.removeprefix("UPDATE (").removesuffix(")") for right in rights if right.startswith("UPDATE")]
    return ("yes" if "INSERT" in rights else "no", "yes" if "DELETE" in rights else "no", _listed(columns))


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names) or "nothing"


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "\n" + "".join(f"| {' | '.join(line)} |\n" for line in lines)
