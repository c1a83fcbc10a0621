"""Models of tools: tool servers, their listings and tools, the tools an agent may call, and calls that need approval.

A `ToolApproval` holds one call with its exact arguments, and a person's decision on it.
"""

from typing import Any, ClassVar, Self

from django.core.validators import MaxLengthValidator, MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models.functions import Now
from django_fsm import transition

from apps.governance.models import Governed
from apps.governance.models.base import GovernedQuerySet, StateField
from apps.governance.stored_text import validate_storable_text
from apps.tenants.models.endpoints import KEY, key_rule, validate_reachable_url
from apps.tools.tool_limits import ServerToolDefinition

REASON_CHARACTERS = 1_000


class ToolApprovalQuerySet(GovernedQuerySet["ToolApproval"]):
    """Filters for tool approvals."""

    def waiting(self) -> Self:
        """Return the approvals that await a decision."""
        return self.filter(status=ToolApproval.Status.WAITING)

    def standing(self, conversation_id: int, sha256: str) -> Self:
        """Return the approvals of this call that are pending, or approved and not yet used."""
        standing = (ToolApproval.Status.WAITING, ToolApproval.Status.APPROVED)
        return self.filter(conversation=conversation_id, call_sha256=sha256, status__in=standing)


class ToolApproval(Governed):
    """A tool call that an agent requested, with its exact arguments. Once a person approves, it may be made one time."""

    class Status(models.TextChoices):
        """The state of the request. An approved call may be made; consumed and refused are final."""

        WAITING = "waiting", "Waiting"
        APPROVED = "approved", "Approved"
        REFUSED = "refused", "Refused"
        CONSUMED = "consumed", "Consumed"

    conversation = models.ForeignKey("conversations.Conversation", on_delete=models.PROTECT, related_name="+")
    agent = models.ForeignKey("tenants.Agent", on_delete=models.PROTECT, related_name="+")
    tool_name = models.CharField(max_length=64, editable=False)
    arguments = models.JSONField(editable=False)
    call_sha256 = models.CharField(max_length=64, editable=False)
    turn_id = models.BigIntegerField(null=True, editable=False)
    status = StateField(max_length=10, choices=Status.choices, default=Status.WAITING)
    reason = models.TextField(
        "why not", blank=True, validators=[validate_storable_text, MaxLengthValidator(REASON_CHARACTERS)]
    )
    decided_by = models.CharField(max_length=200, blank=True, editable=False)
    decided_at = models.DateTimeField(null=True, editable=False)

    noun = "tool_approval"
    objects = ToolApprovalQuerySet.as_manager()

    class Meta(Governed.Meta):
        ordering: ClassVar = ["-id"]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["tenant", "conversation", "call_sha256"],
                condition=models.Q(status__in=["waiting", "approved"]),
                name="call_has_one_open_approval",
                violation_error_message="This call is waiting for approval already.",
            ),
            models.CheckConstraint(
                condition=models.Q(status="waiting") | ~models.Q(decided_by=""), name="decided_call_names_who_decided"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.tool_name} ({self.get_status_display()})"

    @transition(field=status, source=Status.WAITING, target=Status.APPROVED)
    def approve(self) -> None:
        """Mark the call as approved. It may be made once."""

    @transition(field=status, source=[Status.WAITING, Status.APPROVED], target=Status.REFUSED)
    def refuse(self) -> None:
        """Mark the call as refused. This is possible after an approval too, if the call has not begun."""

    @transition(field=status, source=Status.APPROVED, target=Status.CONSUMED)
    def spend(self) -> None:
        """Mark the approval as used, in the commit in which the call begins."""


# The first migration imports `validate_reachable_url` from this module.
__all__ = ["AgentTool", "ServerTool", "ToolApproval", "ToolListing", "ToolServer", "validate_reachable_url"]

KEY_CHARACTERS = 24
MAX_TIMEOUT_SECONDS = 30
MAX_RESULT_BYTES = 50_000


class ToolServer(Governed):
    """A server that speaks the Model Context Protocol, with its headers.

    Agents may call only those of its tools that were allowed individually.
    """

    key = models.CharField(
        max_length=KEY_CHARACTERS,
        validators=[key_rule],
        help_text="Prefix of its tools' names: crm makes crm__find_order.",
    )
    title = models.CharField(max_length=120, validators=[validate_storable_text])
    url = models.CharField(
        "address",
        max_length=300,
        validators=[validate_storable_text, validate_reachable_url],
        help_text="Such as https://tools.example/mcp. Another host, port or scheme deletes the headers. Enter them again then.",
    )
    # The database keeps the reference within the tenant, and deletes a secret that no row refers to.
    secret = models.ForeignKey(
        "tenants.SealedSecret", null=True, editable=False, on_delete=models.DO_NOTHING, related_name="+"
    )
    is_active = models.BooleanField(
        "active", default=True, help_text="Off: no agent is offered any of its tools or can call them."
    )
    timeout_seconds = models.PositiveIntegerField(
        "seconds", default=20, validators=[MinValueValidator(1), MaxValueValidator(MAX_TIMEOUT_SECONDS)]
    )
    max_result_bytes = models.PositiveIntegerField(
        "longest result, in bytes",
        default=20_000,
        validators=[MinValueValidator(500), MaxValueValidator(MAX_RESULT_BYTES)],
        help_text="A longer result is cut, and the agent is told that it was.",
    )

    noun = "tool_server"
    objects = GovernedQuerySet["ToolServer"].as_manager()

    class Meta(Governed.Meta):
        ordering: ClassVar = ["key"]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["tenant", "key"],
                name="tool_server_key_is_unique_in_tenant",
                violation_error_message="There is a tool server with this key already. Choose another key.",
            ),
            models.CheckConstraint(condition=models.Q(key__regex=KEY), name="tool_server_key_is_lower_case"),
        ]

    def __str__(self) -> str:
        return self.key

    @property
    def has_headers(self) -> bool:
        """Whether headers are stored for the server."""
        return self.secret_id is not None


class ToolListing(models.Model):
    """The last refresh of a server's tool list and its result. Workers overwrite it."""

    tenant = models.ForeignKey("tenants.Tenant", on_delete=models.PROTECT, related_name="+")
    server = models.OneToOneField(ToolServer, on_delete=models.PROTECT, related_name="listing")
    due_at = models.DateTimeField(db_index=True)
    listed_at = models.DateTimeField(null=True)
    protocol_version = models.CharField(max_length=20, blank=True)
    failure = models.CharField(max_length=300, blank=True)

    def __str__(self) -> str:
        return self.failure or f"{self.protocol_version} {self.listed_at:%Y-%m-%d %H:%M}"


class ServerToolQuerySet(GovernedQuerySet["ServerTool"]):
    """Filters for the tools of servers."""

    def listed(self) -> Self:
        """Return the tools that their servers currently offer and that may be shown to a model."""
        return self.filter(is_listed=True, validation_error="")


class ServerTool(models.Model):
    """One tool with the server's current description, which is not verified."""

    tenant = models.ForeignKey("tenants.Tenant", on_delete=models.PROTECT, related_name="+")
    server = models.ForeignKey(ToolServer, on_delete=models.PROTECT, related_name="tools")
    name = models.CharField(max_length=200)
    qualified_name = models.CharField(max_length=64)
    definition = models.JSONField(null=True)
    sha256 = models.CharField(max_length=64, blank=True)
    validation_error = models.CharField(max_length=300, blank=True)
    is_listed = models.BooleanField(default=True)
    updated_at = models.DateTimeField(db_default=Now())

    objects = ServerToolQuerySet.as_manager()

    class Meta:
        ordering: ClassVar = ["qualified_name"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["tenant", "server", "name"], name="tool_is_listed_once"),
            models.UniqueConstraint(fields=["tenant", "qualified_name"], name="tool_has_a_unique_qualified_name"),
            models.CheckConstraint(
                condition=models.Q(validation_error="", definition__isnull=False) | ~models.Q(validation_error=""),
                name="tool_is_defined_or_says_why_not",
            ),
        ]

    def __str__(self) -> str:
        return self.qualified_name

    @property
    def defined(self) -> ServerToolDefinition | None:
        """Return the definition to show to a model, or None if it may not be shown."""
        return ServerToolDefinition(**self.definition) if self.definition and not self.validation_error else None


class AgentToolQuerySet(GovernedQuerySet["AgentTool"]):
    """Filters for the tools that agents may call."""

    def for_agent(self, agent_id: int) -> Self:
        """Return the tools that one agent may call."""
        return self.filter(agent=agent_id)


class AgentTool(Governed):
    """A tool that an agent may call, with the description that a person read.

    Once the server changes the description, the tool is no longer offered.
    """

    agent = models.ForeignKey("tenants.Agent", on_delete=models.PROTECT, related_name="+")
    tool = models.ForeignKey(ServerTool, on_delete=models.PROTECT, related_name="allowed")
    needs_approval = models.BooleanField(
        "each call waits for a person",
        default=True,
        help_text="Can be off only for a tool that its server declares read-only.",
    )
    definition = models.JSONField(editable=False)
    sha256 = models.CharField(max_length=64, editable=False)

    noun = "agent_tool"
    objects = AgentToolQuerySet.as_manager()

    class Meta(Governed.Meta):
        ordering: ClassVar = ["agent_id", "id"]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["tenant", "agent", "tool"],
                name="agent_is_allowed_a_tool_once",
                violation_error_message="The agent may call this tool already.",
            ),
            models.CheckConstraint(
                condition=models.Q(needs_approval=True) | models.Q(definition__is_read_only=True),
                name="writing_tool_needs_approval",
            ),
        ]

    def __str__(self) -> str:
        return str(self.definition["name"]) if self.definition else "a tool"

    @property
    def allowed(self) -> ServerToolDefinition:
        """Return the tool's definition as it was when a person allowed it."""
        stored: dict[str, Any] = self.definition  # Any: a JSON object
        return ServerToolDefinition(**stored)

    @property
    def is_offered(self) -> bool:
        """Whether the server is active and still lists the tool with the description that was allowed."""
        tool = self.tool
        return tool.server.is_active and tool.is_listed and not tool.validation_error and tool.sha256 == self.sha256
