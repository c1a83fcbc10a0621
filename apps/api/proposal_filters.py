"""How the list of proposals is narrowed."""

from django.db.models import Q, QuerySet
from django.utils import timezone

from apps.api.filters import AgentFilters, BooleanFilter, CharFilter, ChoiceFilter, IdFilter, SearchFilter
from apps.governance.models import Proposal, Taint
from apps.governance.policy.risk_tiers import Tier
from apps.review.proposal_queues import LABELS, OVERDUE_AFTER, claimed, overdue, queues


class ProposalFilters(AgentFilters):
    """By agent, kind, state, queue, risk, target, whose words they are and who looks at them."""

    kind = ChoiceFilter(choices=Proposal.Kind.choices)
    state = ChoiceFilter(choices=Proposal.State.choices)
    risk = ChoiceFilter(choices=[(tier.value, tier.value) for tier in Tier])
    target_type = CharFilter(help_text="personas.persona, skills.skill and the like.")
    target_id = IdFilter()
    taint = ChoiceFilter(choices=Taint.choices)
    queue = ChoiceFilter(
        choices=list(LABELS.items()), method="in_queue", help_text="What waits now, was put off, and so on."
    )
    is_claimed_by_caller = BooleanFilter(method="by_claim", help_text="True: what you said you are looking at.")
    is_claimed = BooleanFilter(method="by_any_claim", help_text="False: what nobody is looking at.")
    is_overdue = BooleanFilter(method="by_age", help_text=f"True: asked for more than {OVERDUE_AFTER.days} days ago.")
    search = SearchFilter("target_label", "proposed_by", "rationale")

    def in_queue(self, rows: QuerySet[Proposal], name: str, value: str) -> QuerySet[Proposal]:
        """As the console's inbox is divided."""
        del name
        return rows.filter(queues(timezone.now())[value])

    def by_claim(self, rows: QuerySet[Proposal], name: str, value: bool) -> QuerySet[Proposal]:
        """Those the asker claims, or all others."""
        del name
        mine = claimed(timezone.now()) & Q(claimed_by_id=self.request.auth.user_id)
        return rows.filter(mine) if value else rows.exclude(mine)

    def by_any_claim(self, rows: QuerySet[Proposal], name: str, value: bool) -> QuerySet[Proposal]:
        """Those that somebody claims, or nobody."""
        del name
        anybody = claimed(timezone.now())
        return rows.filter(anybody) if value else rows.exclude(anybody)

    def by_age(self, rows: QuerySet[Proposal], name: str, value: bool) -> QuerySet[Proposal]:
        """Those that were asked for too long ago, or all others."""
        del name
        late = overdue(timezone.now())
        return rows.filter(late) if value else rows.exclude(late)
