"""Shared by the pages of a person's own talks: the message form, the state of a talk, and the response to a message."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from django import forms
from django.db.models import Q
from django.http import HttpResponse
from unfold.widgets import UnfoldAdminTextareaWidget

from apps.console.conversations.transcripts import TranscriptStep, transcript
from apps.console.framework.form_errors import status_of
from apps.console.framework.forms import VerbatimTextField
from apps.conversations.models import Conversation, InboundEvent
from apps.conversations.rules import EVENT_CHARACTERS
from apps.governance.errors import GovernanceError
from apps.kill_switches.models import KillSwitch
from apps.runtime.kill_switch_checks import active_switch
from apps.runtime.models import Turn
from apps.tenants.authentication.actor_resolution import system_actor


class MessageForm(forms.Form):
    """A member's message; the key makes one message of a page that is sent twice."""

    text = VerbatimTextField(
        label="Your message",
        max_length=EVENT_CHARACTERS,
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 3}),
    )
    key = forms.CharField(max_length=64, widget=forms.HiddenInput)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{"label_suffix": "", "initial": {"key": uuid4().hex}, **kwargs})


@dataclass(frozen=True, slots=True)
class ChatState:
    """A talk as its page shows it: the transcript, the messages without an answer yet, and the latest turn."""

    lines: list[TranscriptStep]
    asked: list[InboundEvent]
    turn: Turn | None
    # The kill switch that pauses the agent, and its reason; empty while the agent answers.
    paused: str = ""

    @property
    def failure(self) -> str:
        """The reason why the latest message has no answer, or none yet."""
        return self.turn.failure if self.turn and self.turn.status in {Turn.Status.FAILED, Turn.Status.RUNNING} else ""


def chat_state(talk: Conversation) -> ChatState:
    """Return the present state of a talk."""
    turn = talk.turns.order_by("-pk").first()
    running = turn.pk if turn and turn.status == Turn.Status.RUNNING else None
    asked = talk.events.filter(Q(turn_id=None) | Q(turn_id=running)) if running else talk.events.filter(turn_id=None)
    switch = active_switch(talk, KillSwitch.Kind.PAUSE_AGENT, actor=system_actor(talk.tenant_id)) if asked else None
    return ChatState(transcript(talk), list(asked), turn, f"{switch.sentence} {switch.reason}" if switch else "")


def submit_message(
    form: forms.Form, send: Callable[[dict[str, Any]], HttpResponse]
) -> tuple[HttpResponse | None, str, int]:
    """Send a valid form. Return the redirect; otherwise None, the refusal, and the status of the page that shows it."""
    if not form.is_bound:
        return None, "", 200
    if not form.is_valid():
        return None, "", 422
    try:
        return send(form.cleaned_data), "", 303
    except GovernanceError as refusal:
        return None, str(refusal), status_of(refusal)
