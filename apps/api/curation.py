"""Which approved skills a person may retire, and keeping one. For people."""

from rest_framework.serializers import CharField, DateTimeField, IntegerField, Serializer

from apps.api.bodies import Body, Number, Text
from apps.governance.policy import Act
from apps.runtime.curation import Curated
from apps.skills.curating import Share, Suggestion


class ShareRow(Serializer[Share]):
    """Of the conversations that ended in 90 days, how many ended badly."""

    ended = IntegerField()
    badly = IntegerField(help_text="Unsolved, abandoned, handed over, or begun again within seven days.")


class SuggestionRow(Serializer[Suggestion]):
    """Why the skill may be retired."""

    cause = CharField(help_text="`unused` or `worse`.")
    sentence = CharField()


class CuratedRow(Serializer[Curated]):
    """A skill that may be retired, with its figures."""

    skill_id = IntegerField()
    suggestions = SuggestionRow(many=True)
    approved_at = DateTimeField(source="figures.approved_at")
    last_used_at = DateTimeField(source="figures.last_used_at", allow_null=True)
    fetched_30_days = IntegerField(source="figures.fetched_30_days", help_text="Conversations in which it was fetched.")
    fetched_90_days = IntegerField(source="figures.fetched_90_days")
    conversations_since = IntegerField(
        source="figures.conversations_since",
        help_text="Of its agent, since it was last used or approved; at most 1,000.",
    )
    with_it = ShareRow(source="figures.with_it")
    without_it = ShareRow(source="figures.without_it")


class Keeping(Body):
    """Why the skill stays."""

    acts = (Act.SKILL_KEEP,)
    about = frozenset({"version"})

    reason = Text()
    version = Number(required=False, help_text="The skill's version that was read.")
