"""Taking a conversation over: the buttons by which a person answers in an agent's place."""

from typing import Any

from django import forms
from unfold.widgets import UnfoldAdminTextareaWidget

from apps.console.framework.forms import DecisionForm, VerbatimTextField
from apps.console.framework.page_actions import Button
from apps.conversations.actions import take_over_conversation
from apps.conversations.models import Conversation
from apps.conversations.rules import EVENT_CHARACTERS
from apps.governance.database.actor_transaction import current_actor
from apps.governance.policy.policy_table import Act
from apps.runtime.turns.operator_replies import hand_back, write_to_customer
from apps.runtime.turns.run_now import has_released_turn, run_turn_now
from apps.runtime.turns.waiting_messages import conversation_length


class WriteMessageForm(DecisionForm):
    """A person's message, bound to the length of the conversation that they saw."""

    seen_length = forms.IntegerField(widget=forms.HiddenInput)
    text = VerbatimTextField(
        label="Message to the customer",
        max_length=EVENT_CHARACTERS,
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 4}),
    )


def _message_initial(conversation: Conversation) -> dict[str, Any]:
    return {"seen_length": conversation_length(conversation)}


def _is_open(conversation: Conversation) -> bool:
    return bool(conversation.status == Conversation.Status.OPEN)


def _may_be_taken_over(conversation: Conversation) -> bool:
    reader = current_actor()
    return _is_open(conversation) and reader is not None and conversation.taken_over_by_id != reader.user_id


def _is_taken_over(conversation: Conversation) -> bool:
    return _is_open(conversation) and conversation.is_held


def _waits_for_next_attempt(conversation: Conversation) -> bool:
    return _is_open(conversation) and not conversation.is_held and has_released_turn(conversation)


def _is_taken_over_by_reader(conversation: Conversation) -> bool:
    reader = current_actor()
    return _is_taken_over(conversation) and reader is not None and conversation.taken_over_by_id == reader.user_id


TAKEOVER_BUTTONS = (
    Button(
        "write",
        "Send",
        Act.MESSAGE_SEND,
        write_to_customer,
        takes_read_at=False,
        done="Sent. The customer reads it now.",
        consequence="The customer reads this as the answer to what they wrote. The agent is told when you hand back.",
        form=WriteMessageForm,
        initial=_message_initial,
        when=_is_taken_over_by_reader,
        tone="primary",
        folded=False,
        on_others=True,
    ),
    Button(
        "take_over",
        "Take over",
        Act.CONVERSATION_TAKE_OVER,
        take_over_conversation,
        done="You have taken over. The agent is locked out until you hand the conversation back.",
        consequence="The agent is locked out until the conversation is handed back, and you answer in its place. A colleague who"
        " has taken over can no longer write.",
        when=_may_be_taken_over,
    ),
    Button(
        "hand_back",
        "Hand back",
        Act.CONVERSATION_HAND_BACK,
        hand_back,
        done="Handed back. The agent answers again.",
        consequence="The agent answers again, what waits included. It is told what was written meanwhile.",
        when=_is_taken_over,
    ),
    Button(
        "run_now",
        "Run now",
        Act.TURN_RUN,
        run_turn_now,
        takes_read_at=False,
        done="A worker tries the answer now.",
        consequence="The delayed answer is tried at once, and not only at its next attempt.",
        when=_waits_for_next_attempt,
        on_others=True,
    ),
)
