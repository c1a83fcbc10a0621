"""Drafts: replies that wait for a person, with the customer's message and their grounding."""

from typing import Any

from django import forms
from django.http import HttpRequest
from unfold.widgets import UnfoldAdminTextareaWidget

from apps.console.desk.desk_worklists import DeskAdmin, draft_done_message, next_draft_url, recent_lines
from apps.console.framework.badges import grounded
from apps.console.framework.forms import DecisionForm, OptionalReasonForm, VerbatimTextField
from apps.console.framework.list_columns import column, excerpt_column
from apps.console.framework.page_actions import Button, PanelReader, Tabs
from apps.console.framework.request_context import actor_of
from apps.desk.models import Draft
from apps.desk.rules import DRAFT_CHARACTERS, REASON_CHARACTERS
from apps.governance.actors import Actor
from apps.governance.policy.policy_table import Act
from apps.runtime.turns.operator_replies import decline_draft, send_reviewed_draft


class SendDraftForm(DecisionForm):
    """Approval of exactly the words on the page."""

    reviewed_sha256 = forms.CharField(widget=forms.HiddenInput)


class SendEditedDraftForm(SendDraftForm):
    """The text that is sent in place of the agent's."""

    sent_text = VerbatimTextField(
        label="What the customer reads",
        max_length=DRAFT_CHARACTERS,
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 6}),
    )


class DiscardDraftForm(OptionalReasonForm):
    """Rejection of a draft, with a code for the reason."""

    reason_code = forms.ChoiceField(
        choices=Draft.Reason.choices,
        label="What is wrong with it",
        widget=forms.RadioSelect(attrs={"class": "pc-chips"}),
    )
    field_order = ("reason_code", "reason")

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.fields["reason"].max_length = REASON_CHARACTERS  # type: ignore[attr-defined]  # a field of text has one


def draft_panels(draft: Any, request: HttpRequest) -> dict[str, Any]:
    """The end of the conversation it belongs to."""
    return recent_lines(draft.conversation, actor_of(request))


def _send_edited(draft: Draft, *, actor: Actor, reviewed_sha256: str, sent_text: str, read_at: int) -> Draft:
    return send_reviewed_draft(draft, actor=actor, reviewed_sha256=reviewed_sha256, text=sent_text, read_at=read_at)


def _send_initial(draft: Draft) -> dict[str, str]:
    return {"reviewed_sha256": draft.text_sha256}


def _edit_initial(draft: Draft) -> dict[str, str]:
    return {"sent_text": draft.text, **_send_initial(draft)}


def _is_open(draft: Draft) -> bool:
    return bool(draft.status == Draft.Status.OPEN)


class DraftAdmin(DeskAdmin):
    """Drafts: those that wait come first; decided ones stay readable."""

    list_display = ("asked", "drafted", "stands_on", "agent", "channel", "age", "state_shown")
    list_display_links = ("asked",)
    list_filter = ("agent", "grounding")
    tabs = Tabs("status", tuple(Draft.Status.choices), first=Draft.Status.OPEN)
    empty = (
        "No reply waits here. They come from agents whose send mode is suggest, on a channel or after a skill for which a send"
        " rule says so."
    )
    fields = ()
    change_form_template = "console/desk/draft.html"
    row_template = "console/desk/draft_row.html"
    panels = PanelReader(draft_panels)
    buttons = (
        Button(
            "send",
            "Send",
            Act.DRAFT_SEND,
            send_reviewed_draft,
            done=draft_done_message("Sent as the agent wrote it."),
            consequence="The customer reads exactly these words, now.",
            form=SendDraftForm,
            initial=_send_initial,
            when=_is_open,
            tone="primary",
            folded=False,
            leads_to=next_draft_url,
        ),
        Button(
            "edit",
            "Edit, then send",
            Act.DRAFT_SEND_EDITED,
            _send_edited,
            done=draft_done_message("Sent in your words. The agent's are kept beside them."),
            consequence="The customer reads your words in the place of the agent's. Both are kept.",
            form=SendEditedDraftForm,
            initial=_edit_initial,
            when=_is_open,
            leads_to=next_draft_url,
        ),
        Button(
            "discard",
            "Discard",
            Act.DRAFT_DISCARD,
            decline_draft,
            done=draft_done_message("Discarded. Nothing was sent."),
            consequence="Nothing is sent. The customer goes without this reply; your reason stays with the draft.",
            form=DiscardDraftForm,
            when=_is_open,
            tone="danger",
            leads_to=next_draft_url,
        ),
    )

    drafted = excerpt_column("Draft", "text")
    stands_on = column("Stands on", grounded, ordering="grounding")
