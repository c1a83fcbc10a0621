"""The playground: a person tries an agent as a test customer, live or with a pending proposal, and sees its prompt.

A talk is private and off the record: nothing is learned, nobody is notified, and its messages are erased by themselves.
"""

from functools import partial
from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.admin import AdminSite
from django.db.models import OuterRef, Q, QuerySet, Subquery
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.http import content_disposition_header
from django.views.decorators.http import require_POST, require_safe
from unfold.widgets import UnfoldAdminSelectWidget

from apps.console.chat.chat_page import MessageForm, chat_state, submit_message
from apps.console.conversations.transcripts import transcript, transcript_text
from apps.console.explain.sessions import shown_parts
from apps.console.framework.request_context import actor_of, people_of
from apps.console.framework.row_titles import PROPOSAL_SCOPES, excerpt, title_of
from apps.conversations.actions import abandon_conversation
from apps.conversations.member_talks import open_trial, send_talk_message
from apps.conversations.models import Conversation, Message
from apps.governance.actors import Actor
from apps.governance.governed_write import may
from apps.governance.models import Proposal
from apps.governance.policy.policy_table import Act
from apps.governance.row_ids import parse_row_id
from apps.prompt.prompt_input import Flavour
from apps.review.review_sheet import trial_blocker
from apps.runtime.models import Session
from apps.runtime.off_the_record_erasure import erase_if_due
from apps.runtime.wakeup import wake_worker_on_commit
from apps.tenants.models import Agent

TRIALS_SHOWN = 30
PROPOSALS_OFFERED = 100


class ProposalField(forms.ModelChoiceField):  # type: ignore[type-arg]  # Django takes no argument there
    """A choice of pending proposals, labelled so that people can distinguish them."""

    def label_from_instance(self, proposal: Proposal) -> str:
        agent_suffix = "" if proposal.target_type in PROPOSAL_SCOPES else f" ({proposal.agent or 'every agent'})"
        return f"Live with proposal {proposal.pk}: {title_of(proposal)}{agent_suffix}"


class NewTrialForm(MessageForm):
    """The first message, its agent, and the configuration to try."""

    agent: "forms.ModelChoiceField[Agent]" = forms.ModelChoiceField(
        queryset=None, label="Agent", empty_label=None, widget=UnfoldAdminSelectWidget
    )
    proposal = ProposalField(
        queryset=None,
        label="Configuration",
        required=False,
        empty_label="Live, as customers have it now",
        widget=UnfoldAdminSelectWidget,
        help_text="A proposal is tried as if somebody had said yes. Its words reach this talk and no customer.",
    )
    field_order = ("agent", "proposal", "text")

    def __init__(self, *args: Any, actor: Actor, initial: dict[str, Any] | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.actor = actor
        self.initial = {**self.initial, **(initial or {})}
        agent, proposal = (self.fields[name] for name in ("agent", "proposal"))
        agent.queryset = trial_agents(actor)  # type: ignore[attr-defined]  # the stubs know no queryset of a form's field
        asked = self.data.get("proposal") if self.is_bound else self.initial.get("proposal")
        proposal.queryset = offered_proposals(trial_proposals(actor), asked or "")  # type: ignore[attr-defined]  # see above
        self.fields["text"].help_text = "Written as a customer would."

    def clean_proposal(self) -> Proposal | None:
        """Refuse a proposal that cannot be tried."""
        proposal: Proposal | None = self.cleaned_data["proposal"]
        if proposal and (flaw := trial_blocker(proposal, self.actor)):
            raise forms.ValidationError(flaw)
        return proposal


def playground_page(site: AdminSite, request: HttpRequest) -> HttpResponse:
    """Show the person's trials; a POST starts another one."""
    actor = actor_of(request)
    asked = {name: request.GET[name] for name in ("agent", "proposal") if request.GET.get(name, "").isdecimal()}
    form = NewTrialForm(request.POST if request.method == "POST" else None, actor=actor, initial=asked)
    done, refusal, status = submit_message(form, partial(_open_and_say, actor=actor))
    if done:
        return done
    context: dict[str, Any] = {
        **site.each_context(request),
        "title": "Playground",
        "form": form,
        "agents": form.fields["agent"].queryset,  # type: ignore[attr-defined]  # see NewTrialForm
        "may_talk": may(actor, Act.CONVERSATION_TALK),
        "refusal": refusal,
        "trials": [] if status >= 400 else _latest_trials(actor),
    }
    return TemplateResponse(request, "console/chat/playground_trials.html", context, status=status)


def trial_page(site: AdminSite, request: HttpRequest, trial_id: int) -> HttpResponse:
    """Show one trial with its prompt; a POST sends a message in it."""
    actor = actor_of(request)
    trial = _trial_or_404(trial_id, actor)
    form = MessageForm(request.POST if request.method == "POST" else None)
    done, refusal, status = submit_message(form, partial(_say, trial, actor=actor))
    if done:
        return done
    session = Session.objects.filter(conversation=trial).select_related("tools").order_by("-pk").first()
    parts = shown_parts(session) if session else []
    context: dict[str, Any] = {
        **site.each_context(request),
        "title": f"Playground: {trial.agent.title}",
        "trial": trial,
        "form": form,
        "refusal": refusal,
        "shown": chat_state(trial),
        "session": session,
        "parts": parts,
        "is_new": any(piece.changed for part in parts for piece in part.pieces),
        "proposal": trial_proposals(actor).filter(pk=trial.trial_proposal_id or 0).first(),
        "people": people_of(request),
    }
    return TemplateResponse(request, "console/chat/playground_trial.html", context, status=status)


@require_safe
def download_trial(request: HttpRequest, trial_id: int) -> HttpResponse:
    """Return the transcript as a text file; the server keeps no copy of it."""
    trial = _trial_or_404(trial_id, actor_of(request))
    session = Session.objects.filter(conversation=trial).order_by("-pk").first()
    tried = f"live with proposal {trial.trial_proposal_id}" if trial.trial_proposal_id else "live"
    head = (
        f"Playground talk {trial.pk} with agent {trial.agent.key}, tried {tried}.",
        f"SHA-256 of the prompt: {session.prefix_sha256 if session else 'none yet'}",
    )
    name = content_disposition_header(as_attachment=True, filename=f"playground-{trial.pk}.txt")
    text = transcript_text(transcript(trial), head)
    headers = {"Content-Disposition": name, "Cache-Control": "private, no-store"}
    return HttpResponse(text, content_type="text/plain; charset=utf-8", headers=headers)


@require_POST
def forget_trial(request: HttpRequest, trial_id: int) -> HttpResponse:
    """End a trial and erase its messages, at once or as soon as the reply being written has ended."""
    actor = actor_of(request)
    trial = _trial_or_404(trial_id, actor)
    abandon_conversation(trial, actor=actor)
    erase_if_due(trial.tenant_id, trial.pk)
    messages.success(request, "Forgotten. The messages are erased; the record of the talk and its cost are kept.")
    return HttpResponseRedirect(reverse("admin:playground"), status=303)


def trial_urls(site: AdminSite) -> list[URLPattern]:
    """Return the URL patterns of the playground."""
    return [
        path("playground/", site.admin_view(partial(playground_page, site)), name="playground"),
        path("playground/<int:trial_id>/", site.admin_view(partial(trial_page, site)), name="trial"),
        path("playground/<int:trial_id>/said/", site.admin_view(download_trial), name="trial_messages"),
        path("playground/<int:trial_id>/forget/", site.admin_view(forget_trial), name="forget_trial"),
    ]


def trial_agents(actor: Actor) -> QuerySet[Agent]:
    """Return the agents that customers write to."""
    return Agent.objects.visible_to(actor).exclude(flavour=Flavour.ASSISTANT.value).order_by("key")


def trial_proposals(actor: Actor) -> QuerySet[Proposal]:
    """Return the pending proposals that concern more than one customer."""
    rows = Proposal.objects.visible_to(actor).open().exclude(kind=Proposal.Kind.PROFILE_CHANGE)
    return rows.select_related("agent").order_by("-pk")


def offered_proposals(proposals: QuerySet[Proposal], asked: str) -> QuerySet[Proposal]:
    """Return the newest proposals, and the one that a link or a sent form names, however old it is."""
    named, newest = parse_row_id(asked), Q(pk__in=proposals.values("pk")[:PROPOSALS_OFFERED])
    return proposals.filter(newest if named is None else newest | Q(pk=named))


def _trial_or_404(trial_id: int, actor: Actor) -> Conversation:
    """Return an open trial, or raise 404; nothing is left to show of an erased one."""
    rows = Conversation.objects.visible_to(actor).trials_of(actor.user_id).open().select_related("agent")
    trial = rows.filter(pk=trial_id).first()
    if trial is None:
        raise Http404("There is no such talk of yours in the playground, or it was forgotten.")
    return trial


def _latest_trials(actor: Actor) -> list[dict[str, Any]]:
    """Return the latest trials that still have messages, each with an excerpt of the last one."""
    last = Message.objects.filter(conversation=OuterRef("pk")).exclude(text="").order_by("-position")
    rows = Conversation.objects.visible_to(actor).trials_of(actor.user_id).open().select_related("agent")
    trials = rows.annotate(last_words=Subquery(last.values("text")[:1])).order_by("-pk")
    left = trials.filter(Q(erased_at=None) | Q(last_words__isnull=False))[:TRIALS_SHOWN]
    return [{"trial": row, "last_words": excerpt(row.last_words or "")} for row in left]


def _open_and_say(values: dict[str, Any], *, actor: Actor) -> HttpResponse:
    proposal = values["proposal"]
    trial = open_trial(values["agent"].pk, actor=actor, proposal_id=proposal.pk if proposal else None)
    return _say(trial, values, actor=actor)


def _say(trial: Conversation, values: dict[str, Any], *, actor: Actor) -> HttpResponse:
    send_talk_message(trial, actor=actor, text=values["text"], idempotency_key=values["key"])
    wake_worker_on_commit(trial.tenant_id, trial.pk)
    return HttpResponseRedirect(reverse("admin:trial", args=[trial.pk]), status=303)
