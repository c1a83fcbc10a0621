"""Reports: people report wrong replies of agents, and settle the reports. Agents report nothing."""

from typing import ClassVar

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.framework.base_views import RowViewSet
from apps.api.framework.row_actions import decision_action
from apps.api.protocol.filters import AgentFilters, ChoiceFilter, IdFilter, SearchFilter
from apps.api.protocol.request_bodies import RequestBody, StrictIntegerField, StrictTextField
from apps.api.protocol.serializers import STAMP_FIELDS, RowSerializer, agent_key
from apps.desk.reports.actions import settle_report, withdraw_report
from apps.desk.reports.models import Report
from apps.desk.reports.rules import CORRECTION_CHARACTERS, EXPLANATION_CHARACTERS, RESOLUTION_CHARACTERS
from apps.governance.actors import ANYWHERE
from apps.governance.errors import NotVisible
from apps.governance.governed_write import authorize
from apps.governance.policy.policy_table import Act
from apps.learning.reply_reports import report_reply

REPORT_FIELDS = ("reason_code", "explanation", "correction")
VERSION_HELP = "The report's version that was read."


class ReplyReportSerializer(RowSerializer[Report]):
    """One report. A withdrawn one has no text any more. The reply is in the transcript, as `message_id`."""

    agent_key = agent_key()
    conversation_id = serializers.IntegerField(read_only=True)
    message_id = serializers.IntegerField(read_only=True, help_text="The reported reply.")
    turn_id = serializers.IntegerField(
        source="message.turn_id",
        read_only=True,
        allow_null=True,
        help_text="The turn that wrote the reply; `turns/{id}/why/` explains it.",
    )

    class Meta:
        model = Report
        fields = (
            "id",
            "agent_key",
            "conversation_id",
            "message_id",
            "turn_id",
            "reason_code",
            "explanation",
            "correction",
            "status",
            "author",
            "outcome",
            "resolution",
            "decided_by",
            "decided_at",
            *STAMP_FIELDS,
            "ignored_fields",
        )
        read_only_fields = fields


class ReportReplyBody(RequestBody):
    """The reply, what is wrong with it, and what it should have been."""

    about = frozenset[str]()
    acts = (Act.REPORT_CREATE,)
    shown = frozenset(ReplyReportSerializer.Meta.fields)

    message_id = StrictIntegerField(help_text="A message with `is_reply`, written by the agent, on the record.")
    reason_code = serializers.ChoiceField(Report.Reason.choices)
    explanation = StrictTextField(
        required=False, help_text=f"Up to {EXPLANATION_CHARACTERS} characters; required with the reason `other`."
    )
    correction = StrictTextField(
        required=False, help_text=f"What the reply should have been, up to {CORRECTION_CHARACTERS} characters."
    )


class ResolveReportBody(RequestBody):
    """The outcome: what has to change, or that nothing was wrong."""

    outcome = serializers.ChoiceField(Report.Outcome.choices)
    resolution = StrictTextField(required=False, help_text=f"What was done, up to {RESOLUTION_CHARACTERS} characters.")
    version = StrictIntegerField(required=False, help_text=VERSION_HELP)


class ReplyReportFilters(AgentFilters):
    """Filter by agent, conversation, reply, state, reason and outcome."""

    conversation_id = IdFilter()
    message_id = IdFilter(help_text="The reported reply.")
    status = ChoiceFilter(choices=Report.Status.choices)
    reason_code = ChoiceFilter(choices=Report.Reason.choices)
    outcome = ChoiceFilter(choices=Report.Outcome.choices)
    search = SearchFilter("explanation", "correction")


class ReplyReportView(RowViewSet[Report]):
    """Reports on the tenant's agents, newest first."""

    acts: ClassVar = {
        "create": (Act.REPORT_CREATE,),
        "withdraw": (Act.REPORT_WITHDRAW,),
        "resolve": (Act.REPORT_RESOLVE,),
    }
    queryset = Report.objects.none()
    serializer_class = ReplyReportSerializer
    filterset_class = ReplyReportFilters
    for_people = True
    keeps_words = False

    def get_queryset(self) -> QuerySet[Report]:
        """Return all reports, withdrawn ones without their text."""
        return Report.objects.visible_to(self.actor).select_related("agent", "message")

    @extend_schema(request=ReportReplyBody, responses={201: ReplyReportSerializer})
    def create(self, request: Request) -> Response:
        """Report a reply as wrong. Neither the customer nor the agent is notified; the report waits for a person to settle it."""
        authorize(self.actor, Act.REPORT_CREATE, self.actor.tenant_id, agent_id=ANYWHERE)
        sent = ReportReplyBody.read(request, self.actor)
        try:
            report = report_reply(sent.values["message_id"], actor=self.actor, **sent.only(*REPORT_FIELDS))
        except NotVisible as hidden:
            raise ValidationError({"message_id": [str(hidden)]}) from hidden
        return self.answer(report.pk, sent.ignored, 201)

    withdraw = decision_action(
        "withdraw",
        Act.REPORT_WITHDRAW,
        withdraw_report,
        ReplyReportSerializer,
        "Withdraw your own report while it waits. Its text stays in the change history only.",
    )

    @extend_schema(request=ResolveReportBody, responses=ReplyReportSerializer)
    @action(detail=True, methods=["post"])
    def resolve(self, request: Request, pk: str) -> Response:
        """Settle a report. A report that was right becomes a case for the agent's lessons."""
        report = self.get_object()
        sent = ResolveReportBody.read(request, self.actor)
        settle_report(report, actor=self.actor, read_at=sent.read_at, **sent.only("outcome", "resolution"))
        return self.answer(report.pk, sent.ignored)
