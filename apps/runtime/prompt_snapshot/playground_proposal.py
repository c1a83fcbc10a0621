"""What is tried in the playground: an open proposal as if it were applied, in one person's own talk and in no other prompt.

Every byte that would be new is the proposal's, by its segment; PostgreSQL refuses a part with such bytes to every other session.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from apps.conversations.models import Conversation
from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting
from apps.governance.models import Proposal
from apps.governance.proposals.approval_rules import Would
from apps.prompt.prompt_input import Source
from apps.prompt.rendering.segments import Assembled, Part, Segment
from apps.review.proposal_sheet import sheet_of
from apps.runtime.prompt_snapshot.proposed_rows import NEW_RULE, as_it_would_be
from apps.runtime.prompt_snapshot.snapshot_store import NotFrozen
from apps.skills.models import Skill

KIND: Final = Proposal._meta.label_lower


class ProposalDecided(NotFrozen):
    """What is tried does not wait for a yes any more, or nobody can tell what a yes would make of it."""

    code = "proposal_decided"


@dataclass(frozen=True, slots=True)
class Tried:
    """A proposal that nobody has decided, and what a yes would make of its row."""

    proposal: Proposal
    would: Would

    @property
    def skill(self) -> Skill | None:
        """The runbook as it would read; None where the proposal is about something else, or would end it."""
        row = as_it_would_be(self.would.row, self.would)
        return row if isinstance(row, Skill) and not self.would.goes else None

    def is_about(self, source: Source) -> bool:
        """Whether these words stand in the row that would change, or in one that it would add."""
        row = self.would.row
        return source.record_id >= NEW_RULE or (source.record_type, source.record_id) == (row._meta.label_lower, row.pk)


def tried_in(conversation: Conversation, *, system: Actor) -> Tried | None:
    """None where what is live is talked with. Raises ProposalDecided where what is tried waits no more."""
    if conversation.trial_proposal_id is None:
        return None
    with acting(system):
        rows = Proposal.objects.visible_to(system).select_related("agent")
        proposal = rows.open().filter(pk=conversation.trial_proposal_id).first()
    would = sheet_of(proposal, actor=system).would if proposal else None
    if proposal is None or would is None:
        raise ProposalDecided(
            f"Proposal {conversation.trial_proposal_id} does not wait any more, or says in no words what would change."
            " Begin another talk with what is live, or with another proposal.",
        )
    return Tried(proposal, would)


def tried_skill(conversation: Conversation, skill_id: int, *, system: Actor) -> Skill | None:
    """The runbook as an open proposal would have it, where that proposal is tried."""
    tried = tried_in(conversation, system=system)
    skill = tried.skill if tried else None
    return skill if skill and skill.pk == skill_id else None


def marked(proposed: Assembled, live: Assembled, tried: Tried) -> Assembled:
    """The prompt with whatever does not stand in the live one named as the proposal's."""
    known = {segment[:1] + _place(segment.source) for part in live.parts for segment in part.segments if segment.source}
    return replace(
        proposed, parts=tuple(Part(part.slot, tuple(_marked(part, known, tried))) for part in proposed.parts)
    )


def _marked(part: Part, known: set[tuple[object, ...]], tried: Tried) -> Iterator[Segment]:
    waiting = tried.proposal
    for segment in part.segments:
        source = segment.source
        if source is None or not tried.is_about(source) or segment[:1] + _place(source) in known:
            yield segment
        else:
            named = Source(KIND, waiting.pk, waiting.version, source.field, waiting.proposed_by, "", waiting.taint)
            yield segment._replace(source=named)


def _place(source: Source) -> tuple[object, ...]:
    return source.record_type, source.record_id, source.field
