"""Verifies the audit log."""

import json
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from time import perf_counter
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from apps.governance.audit.approval_receipts import mismatches, receipt_of
from apps.governance.audit.hash_chain import ChainVerification
from apps.governance.audit.log_reader import verify_audit_log
from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import GovernanceError
from apps.tenants.authentication.actor_resolution import system_actor, system_actor_of_tenant
from apps.tenants.management.command_arguments import ALL_TENANTS, select_tenants

Anchors = Mapping[int, list[str]]


class Command(BaseCommand):
    """One tenant needs only the ordinary login; all tenants need the database's owner, which can list them."""

    help = "Recompute the audit chain of one tenant or all, and name every row that was removed, reordered, altered or inserted."

    def add_arguments(self, parser: CommandParser) -> None:
        """The tenant, and anchors or a receipt to compare."""
        parser.add_argument(
            "--tenant", default=ALL_TENANTS, metavar="KEY", help="The tenant's key; all tenants by default."
        )
        parser.add_argument(
            "--anchor",
            type=Path,
            metavar="FILE",
            help="A file of earlier heads as JSON lines. The chain must still contain them; a verified head is appended.",
        )
        parser.add_argument(
            "--receipt",
            type=Path,
            metavar="FILE",
            help="Check instead whether an approval receipt still matches the audit log.",
        )
        parser.add_argument(
            "--export-head",
            action="store_true",
            help="Print each head as a JSON line, to be stored outside the database.",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Print one line for each tenant and one for each finding."""
        if options["receipt"]:
            self._compare_receipt(options["receipt"])
            return
        anchors = _read_anchors(options["anchor"])
        wrong = 0
        for key, tenant_id in select_tenants(options["tenant"]):
            verified = self._verify_tenant(key, tenant_id, anchors[key])
            wrong += len(verified.findings)
            head = json.dumps({"tenant": key, "position": verified.position, "sha256": verified.sha256})
            if options["export_head"]:
                self.stdout.write(head)
            if options["anchor"] and verified.position and not verified.findings:
                with options["anchor"].open("a", encoding="utf-8") as file:
                    file.write(f"{head}\n")
        if wrong:
            raise CommandError(f"The audit log is not intact: {wrong} findings.")

    def _compare_receipt(self, path: Path) -> None:
        try:
            receipt = json.loads(path.read_text(encoding="utf-8"))
            actor = system_actor_of_tenant(str(receipt["tenant"]))
            if actor is None:
                raise CommandError(f"There is no tenant “{receipt['tenant']}”.")
            with acting_as(actor):
                now = receipt_of(int(receipt["proposal"]["id"]), tenant_key=str(receipt["tenant"]), actor=actor)
            differences = mismatches(receipt, now)
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as unreadable:
            raise CommandError(
                f"{path} is not an approval receipt. Print one with: manage.py approval_receipt"
            ) from unreadable
        except GovernanceError as refusal:
            raise CommandError(str(refusal)) from refusal
        if differences:
            raise CommandError(f"The receipt does not match the audit log. {' '.join(differences)}")
        self.stdout.write("The receipt matches the audit log.")

    def _verify_tenant(self, key: str, tenant_id: int, anchors: Anchors) -> ChainVerification:
        started = perf_counter()
        with acting_as(system_actor(tenant_id)):
            verified = verify_audit_log(tenant_id, anchors)
        speed = verified.entry_count / (perf_counter() - started)
        for finding in verified.findings:
            self.stderr.write(f"{key}: {finding.row} was {finding.kind.value}. {finding.detail}")
        self.stderr.write(
            f"{key}: {verified.entry_count} entries up to link {verified.position}, {len(verified.findings)} findings"
            f" ({speed:,.0f} rows a second)."
        )
        return verified


def _read_anchors(path: Path | None) -> Mapping[str, Anchors]:
    known: dict[str, dict[int, list[str]]] = defaultdict(lambda: defaultdict(list))
    if path is None or not path.exists():
        return known
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        try:
            head = json.loads(line)
            known[str(head["tenant"])][int(head["position"])].append(str(head["sha256"]))
        except (ValueError, KeyError, TypeError) as refusal:
            raise CommandError(
                f"Line {number} of {path} is not an anchor. Each line is a JSON object with tenant, position and sha256."
            ) from refusal
    return known
