"""Comments: notes of people to each other about a proposal, on its page and in a list of their own."""

from dataclasses import dataclass
from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from unfold.widgets import UnfoldAdminTextareaWidget

from apps.console.framework.actor_names import ActorNames
from apps.console.framework.forms import DecisionForm, VerbatimTextField
from apps.console.framework.governed_admin import GovernedAdmin
from apps.console.framework.list_columns import column, moment_column, person_column
from apps.console.framework.markdown_rendering import plain_words, render_markdown
from apps.console.framework.page_actions import Button, PanelReader, Tabs
from apps.console.framework.request_context import actor_of
from apps.console.framework.row_titles import title_of
from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import current_actor
from apps.governance.models import Proposal
from apps.governance.policy.policy_table import Act
from apps.review.comment_actions import withdraw_comment
from apps.review.models import Comment
from apps.review.rules import COMMENT_CHARACTERS, ONLY_AUTHOR_WITHDRAWS

BEGINNING_CHARACTERS = 90
READ_CHARACTERS = 1_000


class CommentForm(DecisionForm):
    """A comment; the action checks its length, so that one that is too long is shown again completely."""

    text = VerbatimTextField(
        label="Comment",
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 3}),
        help_text=f"Markdown, up to {COMMENT_CHARACTERS:,} characters. You may withdraw it, and not change it.",
    )


@dataclass(frozen=True, slots=True)
class ShownComment:
    """One comment as a page shows it; a withdrawn one has no words."""

    comment: Comment
    name: str
    html: SafeString
    is_mine: bool


def comments_of(proposal: Any, actor: Actor, people: ActorNames) -> list[ShownComment]:
    """Return the comments on a proposal, the oldest first, read once for its page."""
    if not hasattr(proposal, "said"):
        proposal.said = comments_about([proposal.pk], actor, people)
    comments: list[ShownComment] = proposal.said
    return comments


def comments_about(proposal_ids: list[int], actor: Actor, people: ActorNames) -> list[ShownComment]:
    """Return the comments on any of these proposals."""
    if not proposal_ids:
        return []
    rows = Comment.objects.visible_to(actor).filter(proposal__in=proposal_ids).order_by("pk")
    return [ShownComment(row, people[row.author], render_markdown(row.text), _may_withdraw(row, actor)) for row in rows]


def comments_panel(proposal: Any, request: HttpRequest) -> dict[str, Any]:
    """Return the comments on the proposal."""
    return {"comments": comments_of(proposal, actor_of(request), proposal.people)}


def comments_url(proposal: Proposal) -> str:
    return f"{reverse('admin:governance_proposal_change', args=[proposal.pk])}#comments"


def comment_panels(comment: Any, request: HttpRequest) -> dict[str, Any]:
    """Return the text, and why the reader may not withdraw it, if so."""
    return {
        "html": render_markdown(comment.text),
        "author": comment.people[comment.author],
        "only_its_author": "" if _may_withdraw(comment, actor_of(request)) else ONLY_AUTHOR_WITHDRAWS,
    }


def _may_withdraw(comment: Comment, actor: Actor) -> bool:
    return bool(comment.author == actor.label and comment.status == Comment.Status.ACTIVE)


def _reader_may_withdraw(comment: Comment) -> bool:
    actor = current_actor()
    return actor is not None and _may_withdraw(comment, actor)


def _link_to_comments(comment: Comment) -> SafeString:
    return format_html('<a href="{}">{}</a>', comments_url(comment.proposal), title_of(comment.proposal))


class CommentAdmin(GovernedAdmin):
    """Comments on all proposals, the latest first."""

    list_display = ("beginning", "about", "agent_shown", "by", "said_at", "state_shown")
    list_display_links = ("beginning",)
    list_filter = ("agent",)
    list_select_related = ("proposal__agent",)
    search_fields = ("text",)
    search_help_text = "Search comments"
    tabs = Tabs("status", tuple(Comment.Status.choices))
    empty = "Nobody has commented yet. On the page of a proposal you can say what others who decide should know."
    fields = ()
    change_form_template = "console/review/comment.html"
    panels = PanelReader(comment_panels)
    buttons = (
        Button(
            "withdraw",
            "Withdraw",
            Act.COMMENT_WITHDRAW,
            withdraw_comment,
            done="Withdrawn. Only the history of changes keeps the words.",
            consequence="The words go from every page; that you said something stays. They are kept in the history of changes.",
            when=_reader_may_withdraw,
            leads_to=lambda comment: comments_url(comment.proposal),
            tone="danger",
        ),
    )

    about = column("On", _link_to_comments, ordering="proposal")
    agent_shown = column("Agent", lambda row: str(row.proposal.agent or "every agent"), ordering="proposal__agent__key")
    by = person_column("By", "author")
    said_at = moment_column("When", "created_at")

    @admin.display(description="Comment")
    def beginning(self, comment: Comment) -> str:
        words = plain_words(comment.text[:READ_CHARACTERS])
        return (
            words[:BEGINNING_CHARACTERS] + ("…" if len(words) > BEGINNING_CHARACTERS else "")
            or "withdrawn by its author"
        )
