"""How the list of proposals is narrowed."""

from django.db.models import Q, QuerySet
from django.utils import timezone

from apps.api.filters import AgentFilters, BooleanFilter, CharFilter, ChoiceFilter, IdFilter
from apps.governance.models import Proposal, Taint
from apps.governance.tiers import Tier
from apps.review.queues import LABELS, claimed, queues


class ProposalFilters(AgentFilters):
    """By agent, kind, state, queue, tier, target, whose words they are and who looks at them."""

    kind = ChoiceFilter(choices=Proposal.Kind.choices)
    state = ChoiceFilter(choices=Proposal.State.choices)
    tier = ChoiceFilter(choices=[(tier.value, tier.value) for tier in Tier])
    target_type = CharFilter(help_text="personas.persona, skills.skill and the like.")
    target_id = IdFilter()
    taint = ChoiceFilter(choices=Taint.choices)
    queue = ChoiceFilter(
        choices=list(LABELS.items()), method="in_queue", help_text="What waits now, was put off, and so on."
    )
    claimed_by_me = BooleanFilter(method="by_claim", help_text="True: what you said you are looking at.")

    def in_queue(self, rows: QuerySet[Proposal], name: str, value: str) -> QuerySet[Proposal]:
        """As the console's inbox is divided."""
        del name
        return rows.filter(queues(timezone.now())[value])

    def by_claim(self, rows: QuerySet[Proposal], name: str, value: bool) -> QuerySet[Proposal]:
        """Those the asker claims, or all others."""
        del name
        mine = claimed(timezone.now()) & Q(claimed_by_id=self.request.auth.user_id)
        return rows.filter(mine) if value else rows.exclude(mine)
