"""Suggestions of approved skills to retire, and the decision to keep one. For people."""

from django.db.models import QuerySet
from django.utils import timezone
from rest_framework.serializers import CharField, DateTimeField, IntegerField, Serializer

from apps.api.protocol.filters import AgentFilters, ChoiceFilter
from apps.governance.actors import Actor
from apps.governance.errors import NotPermitted
from apps.runtime.skill_retirement import ANY_REASON, SkillCuration, candidate_ids
from apps.skills.models import Skill
from apps.skills.retirement_rules import BadOutcomeRate, NewerSkill, RetirementCause, RetirementSuggestion


class OutcomeShareSerializer(Serializer[BadOutcomeRate]):
    """Share of the skill's conversations that ended badly, within 90 days."""

    ended = IntegerField()
    ended_badly = IntegerField(
        help_text="Number of conversations that were unsolved, abandoned, handed over, or taken up again within seven days."
    )


class CurationSuggestionSerializer(Serializer[RetirementSuggestion]):
    """Why the skill could be retired."""

    cause = CharField(help_text="`unused`, `worse` or `superseded`.")
    detail = CharField()


class NewerSkillSerializer(Serializer[NewerSkill]):
    """A newer approved skill of the same agent with the same content."""

    skill_id = IntegerField()
    title = CharField()
    approved_at = DateTimeField()
    reason = CharField(help_text="The similarity of both.")


class CurationSerializer(Serializer[SkillCuration]):
    """A skill that could be retired, with its statistics."""

    skill_id = IntegerField()
    suggestions = CurationSuggestionSerializer(many=True)
    approved_at = DateTimeField(source="figures.approved_at")
    last_used_at = DateTimeField(source="figures.last_used_at", allow_null=True)
    fetched_30_days = IntegerField(
        source="figures.fetched_30_days", help_text="Number of conversations in which it was fetched."
    )
    fetched_90_days = IntegerField(source="figures.fetched_90_days")
    conversations_since = IntegerField(
        source="figures.conversations_since",
        help_text="Conversations of its agent since it was last used or approved; at most 1,000.",
    )
    with_skill = OutcomeShareSerializer(source="figures.with_skill")
    without_skill = OutcomeShareSerializer(source="figures.without_skill")
    newer = NewerSkillSerializer(source="figures.newer", allow_null=True)


def refuse_agents(actor: Actor) -> None:
    """Refuse agents: people retire skills, so the suggestions are for people."""
    if not actor.is_person:
        raise NotPermitted("Only people retire skills. An agent's token cannot read the suggestions.")


class CurationFilters(AgentFilters):
    """Filter by the reason to retire."""

    curation = ChoiceFilter(
        method="suggested",
        choices=[(ANY_REASON, "May be retired"), *((cause.value, cause.value) for cause in RetirementCause)],
        help_text="Approved skills that may be retired, for any reason or for one. For people.",
    )

    def suggested(self, queryset: QuerySet[Skill], name: str, value: str) -> QuerySet[Skill]:
        """Return the skills with such a reason."""
        actor: Actor = self.request.auth
        refuse_agents(actor)
        return queryset.filter(pk__in=candidate_ids(value, actor=actor, now=timezone.now()))
