"""What a yes to a proposal would reach. For people."""

from rest_framework.serializers import FloatField, IntegerField, ListField, Serializer, SerializerMethodField

from apps.prompt.prompt_diff import Difference, SlotDifference
from apps.runtime.explain.impact import Cost, Foreseen


class SlotChangeRow(Serializer[SlotDifference]):
    """A slot whose text would be another; 0 bytes is a slot that is left out."""

    slot = IntegerField()
    bytes_before = IntegerField(source="before")
    bytes_after = IntegerField(source="after")


class PromptChangeRow(Serializer[Difference]):
    """What becomes of one agent's prompt, in bytes of UTF-8."""

    slots = ListField(child=SlotChangeRow())
    bytes_added = IntegerField(source="added")
    bytes_rewritten = IntegerField(source="rewritten", help_text="Of slots 1-4, behind the first byte that differs.")
    bytes_shared = IntegerField(source="shared", help_text="Slots 1-4 as they would be.")


class CostRow(Serializer[Cost]):
    """Estimated, in millionths of a US dollar."""

    once_micro_usd = IntegerField(source="once", help_text="What a cache writes anew.")
    per_thousand_conversations_micro_usd = IntegerField(source="per_thousand", help_text="More, or less.")


class ReachRow(Serializer[Foreseen]):
    """Counts are of the last thirty days, the latest 10,000 sessions at most."""

    agents = IntegerField(help_text="Whose prompts carry what would change.")
    sessions = IntegerField()
    sessions_a_day = FloatField()
    customers = IntegerField()
    schedules = IntegerField(help_text="Approved ones of these agents, or that follow this skill.")
    callers = IntegerField(help_text="Permissions of other agents to ask these.")
    fetched = IntegerField(allow_null=True, help_text="Conversations that fetched the skill; null for everything else.")
    agent_key = SerializerMethodField(help_text="Whose prompt was compared: of several agents, the busiest.")
    prompt = PromptChangeRow(allow_null=True, help_text="Null where the agent does not learn.")
    tokens_short = IntegerField(source="short_of", help_text="What slots 1-4 lack until the model caches; 0 is enough.")
    cost = CostRow(allow_null=True, help_text="Null where the model has no price.")

    def get_agent_key(self, reach: Foreseen) -> str:
        """Empty where there is no agent."""
        return reach.agent.key if reach.agent else ""
