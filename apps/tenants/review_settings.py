"""A tenant's review settings, and its available reviewers."""

from apps.governance.actors import PEOPLE, Actor
from apps.governance.database.actor_transaction import acting_as
from apps.governance.policy.risk_tiers import ReviewTerms
from apps.tenants.models import TenantSettings
from apps.tenants.models.people import ACCEPTED_MEMBERSHIP, Membership


def review_terms(actor: Actor) -> ReviewTerms:
    """Return the tenant's review settings. For agents and workers, they do not include the list of reviewers."""
    with acting_as(actor):
        settings = TenantSettings.objects.visible_to(actor).get()
        people = _reviewer_ids(actor) if actor.is_person else None
    return ReviewTerms(settings.high_risk_reviewers, settings.proposal_days, settings.max_open_proposals, people)


def _reviewer_ids(actor: Actor) -> frozenset[int]:
    members = Membership.objects.visible_to(actor).filter(ACCEPTED_MEMBERSHIP, role__in=[role.value for role in PEOPLE])
    return frozenset(members.values_list("user_id", flat=True))
