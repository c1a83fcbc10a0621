"""The assistant's pages: a member's own talks, which nobody else reads, and their instructions for the assistant (R129)."""

from functools import partial
from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.admin import AdminSite
from django.db.models import OuterRef, QuerySet, Subquery
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.views.decorators.http import require_POST
from unfold.widgets import UnfoldAdminSelectWidget, UnfoldBooleanWidget

from apps.console.chat.chat_page import MessageForm, chat_state, submit_message
from apps.console.framework.forms import VerbatimTextField
from apps.console.framework.request_context import actor_of
from apps.console.framework.row_titles import excerpt
from apps.conversations.actions import abandon_conversation
from apps.conversations.member_talks import open_talk, send_talk_message
from apps.conversations.models import Conversation, Message
from apps.governance.actors import Actor
from apps.governance.governed_write import may
from apps.governance.policy.policy_table import Act
from apps.personas.actions import create_member_overlay, write_member_overlay
from apps.personas.models import MemberOverlay
from apps.personas.rules import MEMBER_OVERLAY_CHARACTERS
from apps.prompt.prompt_input import Flavour
from apps.runtime.wakeup import wake_worker_on_commit
from apps.tenants.models import Agent

TALKS_SHOWN = 30


class NewTalkForm(MessageForm):
    """The first message, the assistant it goes to, and whether the talk is off the record."""

    agent: "forms.ModelChoiceField[Agent]" = forms.ModelChoiceField(
        queryset=None, label="Assistant", empty_label=None, widget=UnfoldAdminSelectWidget
    )
    off_the_record = forms.BooleanField(
        label="Off the record",
        required=False,
        widget=UnfoldBooleanWidget,
        help_text="What is said is forgotten a quarter of an hour after the last word, or when you close the talk.",
    )
    field_order = ("agent", "text", "off_the_record")

    def __init__(self, *args: Any, assistants: QuerySet[Agent], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field: Any = self.fields["agent"]  # Any: the stubs know no queryset of a form's field
        field.queryset = assistants


class MemberOverlayForm(forms.Form):
    """The member's instructions for the assistant, which apply from the next session on."""

    text = VerbatimTextField(label="How it is to work for you", required=False, max_length=MEMBER_OVERLAY_CHARACTERS)
    read_at = forms.IntegerField(required=False, widget=forms.HiddenInput)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{"label_suffix": "", "auto_id": "wish_%s", **kwargs})


def assistant_page(site: AdminSite, request: HttpRequest) -> HttpResponse:
    """Show the member's talks; a POST starts another one."""
    actor = actor_of(request)
    form = NewTalkForm(request.POST if request.method == "POST" else None, assistants=_assistants(actor))
    done, refusal, status = submit_message(form, partial(_open_and_say, actor=actor))
    if done:
        return done
    context: dict[str, Any] = {
        **site.each_context(request),
        "title": "Assistant",
        "form": form,
        "assistants": form.fields["agent"].queryset,  # type: ignore[attr-defined]  # see NewTalkForm
        "may_talk": may(actor, Act.CONVERSATION_TALK),
        "refusal": refusal,
        "talks": [] if status >= 400 else _latest_talks(actor),
    }
    return TemplateResponse(request, "console/chat/assistant_talks.html", context, status=status)


def talk_page(site: AdminSite, request: HttpRequest, talk_id: int) -> HttpResponse:
    """Show one talk; a POST sends a message in it."""
    actor = actor_of(request)
    talk = _talk_or_404(talk_id, actor)
    form = MessageForm(request.POST if request.method == "POST" else None)
    done, refusal, status = submit_message(form, partial(_say, talk, actor=actor))
    if done:
        return done
    overlay = MemberOverlay.objects.visible_to(actor).filter(agent=talk.agent).first()
    context: dict[str, Any] = {
        **site.each_context(request),
        "title": f"Talk with {talk.agent.title}",
        "talk": talk,
        "form": form,
        "refusal": refusal,
        "shown": chat_state(talk),
        "overlay": overlay,
        "instructions_form": _overlay_form(overlay),
    }
    return TemplateResponse(request, "console/chat/assistant_talk.html", context, status=status)


@require_POST
def close_talk(request: HttpRequest, talk_id: int) -> HttpResponse:
    """End a talk; it stays readable unless it is off the record."""
    abandon_conversation(_talk_or_404(talk_id, actor_of(request)), actor=actor_of(request))
    messages.success(request, "Closed. This talk takes no more messages; start another one whenever you like.")
    return HttpResponseRedirect(reverse("admin:assistant"), status=303)


@require_POST
def save_member_overlay(request: HttpRequest, talk_id: int) -> HttpResponse:
    """Save the member's instructions for the assistant; this settles a pending text of the assistant as well."""
    actor = actor_of(request)
    talk, form = _talk_or_404(talk_id, actor), MemberOverlayForm(request.POST)
    if not form.is_valid():
        flaws = [str(flaw) for flaw in form.errors.get("text", ["The page was incomplete."])]
        messages.error(request, f"Not saved. {' '.join(flaws)}")
        return _redirect_to_talk(talk)
    overlay = MemberOverlay.objects.visible_to(actor).filter(agent=talk.agent).first()
    text = form.cleaned_data["text"]
    if overlay is None:
        create_member_overlay(talk.agent_id, actor=actor, text=text)
    else:
        write_member_overlay(overlay, actor=actor, text=text, read_at=form.cleaned_data["read_at"])
    messages.success(
        request, "Saved. Your assistant follows it from the next session on; open ones keep what they started with."
    )
    return _redirect_to_talk(talk)


def talk_urls(site: AdminSite) -> list[URLPattern]:
    """Return the URL patterns of a member's talks."""
    return [
        path("assistant/", site.admin_view(partial(assistant_page, site)), name="assistant"),
        path("assistant/<int:talk_id>/", site.admin_view(partial(talk_page, site)), name="talk"),
        path("assistant/<int:talk_id>/close/", site.admin_view(close_talk), name="close_talk"),
        path("assistant/<int:talk_id>/wish/", site.admin_view(save_member_overlay), name="assistant_instructions"),
    ]


def _assistants(actor: Actor) -> QuerySet[Agent]:
    return Agent.objects.visible_to(actor).filter(flavour=Flavour.ASSISTANT.value).order_by("key")


def _talk_or_404(talk_id: int, actor: Actor) -> Conversation:
    rows = Conversation.objects.visible_to(actor).talks_of(actor.user_id).select_related("agent")
    talk = rows.filter(pk=talk_id).first()
    if talk is None:
        raise Http404("There is no such talk of yours.")
    return talk


def _latest_talks(actor: Actor) -> list[dict[str, Any]]:
    """Return the latest talks, each with an excerpt of its last message."""
    last = Message.objects.filter(conversation=OuterRef("pk")).exclude(text="").order_by("-position")
    rows = Conversation.objects.visible_to(actor).talks_of(actor.user_id).select_related("agent")
    talks = rows.annotate(last_words=Subquery(last.values("text")[:1])).order_by("-pk")[:TALKS_SHOWN]
    return [{"talk": row, "last_words": excerpt(row.last_words or "")} for row in talks]


def _overlay_form(overlay: MemberOverlay | None) -> MemberOverlayForm:
    if overlay is None:
        return MemberOverlayForm()
    return MemberOverlayForm(initial={"text": overlay.pending_text or overlay.text, "read_at": overlay.version})


def _open_and_say(values: dict[str, Any], *, actor: Actor) -> HttpResponse:
    talk = open_talk(values["agent"].pk, actor=actor, off_the_record=values["off_the_record"])
    return _say(talk, values, actor=actor)


def _say(talk: Conversation, values: dict[str, Any], *, actor: Actor) -> HttpResponse:
    send_talk_message(talk, actor=actor, text=values["text"], idempotency_key=values["key"])
    wake_worker_on_commit(talk.tenant_id, talk.pk)
    return _redirect_to_talk(talk)


def _redirect_to_talk(talk: Conversation) -> HttpResponse:
    return HttpResponseRedirect(reverse("admin:talk", args=[talk.pk]), status=303)
