"""What is decided by itself or not at all, by REST as in the inbox: nobody agrees to a hundred texts in one breath."""

from collections.abc import Mapping
from typing import Any

from apps.governance.actors import Actor
from apps.governance.errors import NotPermitted, NotVisible
from apps.governance.models import Proposal
from apps.review.appliers.registry import target_of
from apps.review.bulk.eligibility import Verb, refuse_apart
from apps.skills.models import Skill

_VERBS: Mapping[str, Verb] = {"approve": Verb.APPROVE, "reject": Verb.REJECT}


def refuse_in_bulk(noun: str, action: str, row_id: int | None, body: Mapping[str, Any], actor: Actor) -> None:
    """Refuse an item that the inbox would not decide together with others either."""
    if noun == "proposals" and action in _VERBS:
        proposal = Proposal.objects.visible_to(actor).filter(pk=row_id or 0).first()
        if proposal is None:
            raise NotVisible("There is no such proposal.")
        refuse_apart(proposal, _VERBS[action], target_of(proposal, actor), actor)
    approved = Skill.Status.APPROVED
    if noun == "skills" and approved in (body.get("to"), body.get("status")):
        raise NotPermitted("A skill is approved by itself, or with others by its proposal, in `proposals/bulk/`.")
