"""What is tried in the playground: an open proposal as if it were applied, in one person's own talk and in no other prompt.

Every byte that would be new is the proposal's, by its segment; PostgreSQL refuses a part with such bytes to every other session.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from apps.conversations.models import Conversation
from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting_as
from apps.governance.models import Proposal
from apps.governance.proposals.approval_rules import ProposedOutcome
from apps.prompt.prompt_input import TextProvenance
from apps.prompt.rendering.segments import PromptSnapshot, Segment, SlotText
from apps.review.review_sheet import read_review_sheet
from apps.runtime.prompt_snapshot.proposed_rows import FIRST_NEW_RULE_ID, changed_copy
from apps.runtime.prompt_snapshot.snapshot_store import PromptUnavailable
from apps.skills.models import Skill

PROPOSAL_TYPE: Final = Proposal._meta.label_lower


class ProposalDecided(PromptUnavailable):
    """What is tried does not wait for a yes any more, or nobody can tell what a yes would make of it."""

    code = "proposal_decided"


@dataclass(frozen=True, slots=True)
class TrialProposal:
    """A proposal that nobody has decided, and what a yes would make of its row."""

    proposal: Proposal
    would: ProposedOutcome

    @property
    def skill(self) -> Skill | None:
        """The runbook as it would read; None where the proposal is about something else, or would end it."""
        row = changed_copy(self.would.row, self.would)
        return row if isinstance(row, Skill) and not self.would.goes else None

    def is_about(self, source: TextProvenance) -> bool:
        """Whether these words stand in the row that would change, or in one that it would add."""
        row = self.would.row
        return source.record_id >= FIRST_NEW_RULE_ID or (source.record_type, source.record_id) == (
            row._meta.label_lower,
            row.pk,
        )


def find_trial(conversation: Conversation, *, system: Actor) -> TrialProposal | None:
    """None where what is live is talked with. Raises ProposalDecided where what is tried waits no more."""
    if conversation.trial_proposal_id is None:
        return None
    with acting_as(system):
        rows = Proposal.objects.visible_to(system).select_related("agent")
        proposal = rows.open().filter(pk=conversation.trial_proposal_id).first()
    would = read_review_sheet(proposal, actor=system).would if proposal else None
    if proposal is None or would is None:
        raise ProposalDecided(
            f"Proposal {conversation.trial_proposal_id} does not wait any more, or says in no words what would change."
            " Begin another talk with what is live, or with another proposal.",
        )
    return TrialProposal(proposal, would)


def find_trial_skill(conversation: Conversation, skill_id: int, *, system: Actor) -> Skill | None:
    """The runbook as an open proposal would have it, where that proposal is tried."""
    tried = find_trial(conversation, system=system)
    skill = tried.skill if tried else None
    return skill if skill and skill.pk == skill_id else None


def mark_as_proposed(proposed: PromptSnapshot, live: PromptSnapshot, tried: TrialProposal) -> PromptSnapshot:
    """The prompt with whatever does not stand in the live one named as the proposal's."""
    known = {
        segment[:1] + _field_key(segment.source) for part in live.parts for segment in part.segments if segment.source
    }
    return replace(
        proposed, parts=tuple(SlotText(part.slot, tuple(_mark_segments(part, known, tried))) for part in proposed.parts)
    )


def _mark_segments(part: SlotText, known: set[tuple[object, ...]], tried: TrialProposal) -> Iterator[Segment]:
    waiting = tried.proposal
    for segment in part.segments:
        source = segment.source
        if source is None or not tried.is_about(source) or segment[:1] + _field_key(source) in known:
            yield segment
        else:
            named = TextProvenance(
                PROPOSAL_TYPE, waiting.pk, waiting.version, source.field, waiting.proposed_by, "", waiting.taint
            )
            yield segment._replace(source=named)


def _field_key(source: TextProvenance) -> tuple[object, ...]:
    return source.record_type, source.record_id, source.field
