"""Approval receipts: documents about one decision each, which can later be compared with the audit log."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import Any

from django.db.models import Q

from apps.governance.actors import Actor
from apps.governance.audit.hash_chain import database_text
from apps.governance.audit.row_history import records_by_evidence
from apps.governance.errors import Conflict, NotVisible
from apps.governance.models import AuditLink, ChangeRecord, Proposal

Receipt = Mapping[str, Any]


def receipt_of(proposal_id: int, *, tenant_key: str, actor: Actor) -> Receipt:
    """Return the receipt of a decided proposal.

    It holds the decision, the approvals and the change records, with their positions in the hash chain.
    """
    proposal = Proposal.objects.visible_to(actor).filter(pk=proposal_id).first()
    if proposal is None:
        raise NotVisible("There is no such proposal in this tenant.")
    if proposal.state == Proposal.State.OPEN:
        raise Conflict("This proposal is not decided yet. A receipt exists only for a decided proposal.")
    return {
        "receipt": "approval",
        "tenant": tenant_key,
        "proposal": _proposal_entry(proposal),
        "decision": {
            "state": str(proposal.state),
            "by": proposal.decided_by,
            "at": database_text(proposal.decided_at),
            "version": proposal.version,
        },
        "approvals": list(_approvals(proposal)),
        "changes": list(_changes(proposal)),
    }


def mismatches(receipt: Receipt, now: Receipt) -> list[str]:
    """Return a sentence for each difference between a receipt and the current one (`now`). Later additions do not count."""
    sentences = [
        f"{part}.{name} was {value!r} and is now {now[part].get(name)!r}."
        for part in ("proposal", "decision")
        for name, value in receipt[part].items()
        if now[part].get(name) != value
    ]
    sentences += [
        f"The approval by {approval['by']} at {approval['created_at']} is missing from the audit log."
        for approval in receipt["approvals"]
        if approval not in now["approvals"]
    ]
    today = {change["record_id"]: change for change in now["changes"]}
    sentences += [
        f"Change record {change['record_id']} was altered, or moved in the chain."
        for change in receipt["changes"]
        if today.get(change["record_id"]) != change
    ]
    return sentences


def _proposal_entry(proposal: Proposal) -> dict[str, Any]:
    content = json.dumps(proposal.content, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return {
        "id": proposal.pk,
        "kind": str(proposal.kind),
        "target_type": proposal.target_type,
        "target_id": proposal.target_id,
        "base_sha256": proposal.base_sha256,
        "reviewed_sha256": proposal.content_sha256,
        "content_sha256": hashlib.sha256(content.encode()).hexdigest(),
        "proposed_by": proposal.proposed_by,
    }


def _approvals(proposal: Proposal) -> Iterator[dict[str, Any]]:
    for approval in proposal.approvals.order_by("id"):
        yield {
            "by": approval.user_label,
            "created_at": database_text(approval.created_at),
            "content_sha256": approval.content_sha256,
            "is_edited": approval.is_edited,
            "confirmed_findings": approval.confirmed_findings,
        }


def _changes(proposal: Proposal) -> Iterator[dict[str, Any]]:
    named = records_by_evidence(proposal.tenant_id, ({"proposal_id": proposal.pk},)).values_list("pk", flat=True)
    about = Q(subject_type=proposal._meta.label_lower, subject_id=proposal.pk) | Q(pk__in=list(named))
    records = ChangeRecord.objects.filter(about, tenant_id=proposal.tenant_id).order_by("id")
    links = {
        link.entry_id: link
        for link in AuditLink.objects.filter(
            tenant_id=proposal.tenant_id,
            entry_type=AuditLink.EntryType.CHANGE,
            entry_id__in=records.values("pk"),
        )
    }
    for record in records:
        link = links.get(record.pk)
        yield {
            "record_id": record.pk,
            "act": record.act,
            "subject_type": record.subject_type,
            "subject_id": record.subject_id,
            "version": record.version_after,
            "by": record.actor_label,
            "text_sha256": record.text_sha256,
            "position": link.position if link else None,
            "link_sha256": link.sha256 if link else None,
        }
