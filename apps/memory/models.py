"""Slots 4 and 5: what an agent remembers of its trade, and what the tenant's agents know of one customer."""

from typing import ClassVar

from django.core.validators import MaxLengthValidator, RegexValidator
from django.db import models
from django.db.models.functions import Lower

from apps.governance.models import Governed, Taint
from apps.governance.models.base import GovernedQuerySet
from apps.governance.stored_text import plain_text
from apps.memory.line_models import MemoryLine, ProfileLine
from apps.memory.rules import (
    BLOCK_CHARACTERS,
    BODY_CHARACTERS,
    END_USER_KEY,
    END_USER_KEY_RULE,
    LABEL,
    LABEL_RULE,
    PROFILE_CHARACTERS,
)
from apps.memory.tier_models import MemoryTier

__all__ = [
    "AGENT",
    "STANDING",
    "AgentMemory",
    "CustomerProfile",
    "MemoryBlock",
    "MemoryLine",
    "MemoryTier",
    "ProfileLine",
]

AGENT = "agent"
# What stands in a memory or a block, until when, and who answers for it.
STANDING = ("body", "approved_body", "line_dates", "updated_by", "taint")


def _prose(characters: int, help_text: str) -> "models.TextField[str, str]":
    return models.TextField(blank=True, validators=[plain_text, MaxLengthValidator(characters)], help_text=help_text)


class AgentMemory(Governed):
    """Slow facts an agent has learned about how the tenant works; it writes them itself (R078-R081)."""

    agent = models.ForeignKey("tenants.Agent", on_delete=models.PROTECT, related_name="+")
    body = _prose(BODY_CHARACTERS, "Markdown. An update replaces the whole body.")
    approved_body = models.TextField(blank=True, editable=False, help_text="The lines a person wrote or approved.")
    line_dates = models.JSONField(blank=True, default=dict, editable=False)
    updated_by = models.CharField(max_length=200, default=AGENT, editable=False)

    noun = "memory"
    objects = GovernedQuerySet["AgentMemory"].as_manager()

    class Meta(Governed.Meta):
        verbose_name_plural = "agent memories"
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["tenant", "agent"],
                name="agent_has_one_memory",
                violation_error_message="This agent has a memory already; amend that one.",
            ),
        ]

    def __str__(self) -> str:
        return f"Memory of agent {self.agent_id}"

    @property
    def is_approved(self) -> bool:
        """Whether a person wrote or approved what stands there; other words are fenced in the prompt (Z-22)."""
        return self.taint == Taint.OPERATOR


class MemoryBlock(Governed):
    """A labelled piece of what an agent knows: made by people, kept up to date by the agent unless read-only (R159, Z-1)."""

    agent = models.ForeignKey("tenants.Agent", on_delete=models.PROTECT, related_name="+")
    label = models.CharField(
        max_length=60,
        validators=[RegexValidator(LABEL, LABEL_RULE)],
        help_text="Such as BusinessFacts, Preferences or PersonaBelief.",
    )
    body = _prose(BLOCK_CHARACTERS, "Markdown. An update replaces the whole body.")
    approved_body = models.TextField(blank=True, editable=False, help_text="The lines a person wrote or approved.")
    line_dates = models.JSONField(blank=True, default=dict, editable=False)
    is_read_only = models.BooleanField(
        "read only", default=False, help_text="On: the agent reads it and cannot change it."
    )
    is_pinned = models.BooleanField(
        "pinned",
        default=False,
        help_text="On: the prompt carries it from the next session on. Off: the prompt does not carry it.",
    )
    updated_by = models.CharField(max_length=200, default=AGENT, editable=False)

    noun = "block"
    objects = GovernedQuerySet["MemoryBlock"].as_manager()

    class Meta(Governed.Meta):
        ordering: ClassVar = ["label", "id"]
        constraints: ClassVar = [
            # Case and what stands between words make no other label: neither a model nor a reviewer tells such two apart.
            models.UniqueConstraint(
                models.F("tenant"),
                models.F("agent"),
                models.Func(
                    Lower("label"),
                    models.Value("[ _-]"),
                    models.Value(""),
                    models.Value("g"),
                    function="regexp_replace",
                ),
                name="agent_has_one_block_per_label",
                violation_error_message="This agent has a block of that label already, in some spelling; change that one.",
            ),
            models.CheckConstraint(
                condition=models.Q(label__regex=LABEL), name="block_label_is_words", violation_error_message=LABEL_RULE
            ),
        ]

    def __str__(self) -> str:
        return self.label

    @property
    def is_approved(self) -> bool:
        """Whether a person wrote or approved what stands there; other words are fenced in the prompt (Z-22)."""
        return self.taint == Taint.OPERATOR


class CustomerProfile(Governed):
    """What the tenant's agents know of one end user, shared among them (R084, R085)."""

    end_user_key = models.CharField(
        max_length=200,
        validators=[RegexValidator(END_USER_KEY, END_USER_KEY_RULE), plain_text],
        help_text="Channel and id: slack:U12345.",
    )
    preferences = _prose(PROFILE_CHARACTERS, "JSON or markdown.")
    notes = _prose(PROFILE_CHARACTERS, "Prose.")
    line_dates = models.JSONField(
        blank=True, default=dict, db_default=models.Value({}, models.JSONField()), editable=False
    )
    last_seen_at = models.DateTimeField()
    updated_by = models.CharField(max_length=200, default=AGENT, editable=False)

    named_by_customer = True

    noun = "profile"
    objects = GovernedQuerySet["CustomerProfile"].as_manager()

    class Meta(Governed.Meta):
        ordering: ClassVar = ["-last_seen_at", "-id"]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["tenant", "end_user_key"],
                name="customer_has_one_profile",
                violation_error_message="There is a profile for this end user already; amend that one.",
            ),
        ]
        indexes: ClassVar = [models.Index(fields=["tenant", "-last_seen_at", "-id"], name="customer_seen_lately")]

    def __str__(self) -> str:
        return self.end_user_key

    @property
    def noted(self) -> str:
        """All that stands there, line by line: preferences, then notes."""
        return f"{self.preferences}\n{self.notes}"
