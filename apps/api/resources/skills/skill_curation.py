"""Which approved skills a person may retire, and keeping one. For people."""

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
    """Of the conversations that ended in 90 days, how many ended badly."""

    ended = IntegerField()
    ended_badly = IntegerField(help_text="Unsolved, abandoned, handed over, or begun again within seven days.")


class CurationSuggestionSerializer(Serializer[RetirementSuggestion]):
    """Why the skill may be retired."""

    cause = CharField(help_text="`unused`, `worse` or `superseded`.")
    detail = CharField()


class NewerSkillSerializer(Serializer[NewerSkill]):
    """A skill of the same agent that was approved later and says the same."""

    skill_id = IntegerField()
    title = CharField()
    approved_at = DateTimeField()
    reason = CharField(help_text="What in both is alike.")


class CurationSerializer(Serializer[SkillCuration]):
    """A skill that may be retired, with its figures."""

    skill_id = IntegerField()
    suggestions = CurationSuggestionSerializer(many=True)
    approved_at = DateTimeField(source="figures.approved_at")
    last_used_at = DateTimeField(source="figures.last_used_at", allow_null=True)
    fetched_30_days = IntegerField(source="figures.fetched_30_days", help_text="Conversations in which it was fetched.")
    fetched_90_days = IntegerField(source="figures.fetched_90_days")
    conversations_since = IntegerField(
        source="figures.conversations_since",
        help_text="Of its agent, since it was last used or approved; at most 1,000.",
    )
    with_skill = OutcomeShareSerializer(source="figures.with_skill")
    without_skill = OutcomeShareSerializer(source="figures.without_skill")
    newer = NewerSkillSerializer(source="figures.newer", allow_null=True)


def refuse_agents(actor: Actor) -> None:
    """People retire skills; what is suggested to them is theirs."""
    if not actor.is_person:
        raise NotPermitted("Only people retire skills; an agent's token does not read what is suggested to them.")


class CurationFilters(AgentFilters):
    """By why a person may retire a skill."""

    curation = ChoiceFilter(
        method="suggested",
        choices=[(ANY_REASON, "May be retired"), *((cause.value, cause.value) for cause in RetirementCause)],
        help_text="Approved skills that may be retired: for any reason, or for one. For people.",
    )

    def suggested(self, queryset: QuerySet[Skill], name: str, value: str) -> QuerySet[Skill]:
        """The skills with such a reason."""
        actor: Actor = self.request.auth
        refuse_agents(actor)
        return queryset.filter(pk__in=candidate_ids(value, actor=actor, now=timezone.now()))
