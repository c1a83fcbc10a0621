"""Comments: what people say to each other about a proposal, on its page and in a list of their own."""

from dataclasses import dataclass
from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from unfold.widgets import UnfoldAdminTextareaWidget

from apps.console.framework.actor_names import People
from apps.console.framework.badges import badge
from apps.console.framework.forms import Decision, Prose
from apps.console.framework.governed_admin import GovernedAdmin
from apps.console.framework.markdown_rendering import plain_words, rendered
from apps.console.framework.page_actions import Button, Panels, Tabs, Values
from apps.console.framework.request_context import actor_of
from apps.console.framework.row_titles import moment, title_of
from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting_actor
from apps.governance.models import Proposal
from apps.governance.policy.table import Act
from apps.review.comment_actions import add_comment, withdraw_comment
from apps.review.models import Comment
from apps.review.rules import COMMENT_CHARACTERS, ONLY_ITS_AUTHOR

BEGINNING = 90
READ = 1_000


class Commenting(Decision):
    """What somebody has to say; its length is the act's to judge, so that a long one is shown again whole."""

    text = Prose(
        label="Comment",
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 3}),
        help_text=f"Markdown, up to {COMMENT_CHARACTERS:,} characters. You may withdraw it, and not change it.",
    )


@dataclass(frozen=True, slots=True)
class Said:
    """One comment as a page shows it; withdrawn ones have no words."""

    comment: Comment
    name: str
    html: SafeString
    is_mine: bool


def said_of(proposal: Any, actor: Actor, people: People) -> list[Said]:
    """The comments on a proposal, the first said first; read once for its page."""
    if not hasattr(proposal, "said"):
        proposal.said = said_about([proposal.pk], actor, people)
    said: list[Said] = proposal.said
    return said


def said_about(proposal_ids: list[int], actor: Actor, people: People) -> list[Said]:
    """The comments on any of these."""
    if not proposal_ids:
        return []
    rows = Comment.objects.visible_to(actor).filter(proposal__in=proposal_ids).order_by("pk")
    return [Said(row, people[row.author], rendered(row.text), _is_by(row, actor)) for row in rows]


def comments_panel(proposal: Any, request: HttpRequest) -> dict[str, Any]:
    """What was said."""
    return {"comments": said_of(proposal, actor_of(request), proposal.people)}


def comment_on(proposal: Proposal, actor: Actor, said: Values) -> Comment:
    return add_comment(proposal, actor=actor, text=said["text"])


def where_it_is_read(proposal: Proposal) -> str:
    return f"{reverse('admin:governance_proposal_change', args=[proposal.pk])}#comments"


def comment_panels(comment: Any, request: HttpRequest) -> dict[str, Any]:
    """Its words, and whether the reader may take them back."""
    return {
        "html": rendered(comment.text),
        "author": comment.people[comment.author],
        "only_its_author": "" if _is_by(comment, actor_of(request)) else ONLY_ITS_AUTHOR,
    }


def _is_by(comment: Comment, actor: Actor) -> bool:
    return bool(comment.author == actor.label and comment.status == Comment.Status.ACTIVE)


def _is_mine(comment: Comment) -> bool:
    actor = acting_actor()
    return actor is not None and _is_by(comment, actor)


def _withdraw(comment: Comment, actor: Actor, said: Values) -> Comment:
    return withdraw_comment(comment, actor=actor, read_at=said["read_at"])


class CommentAdmin(GovernedAdmin):
    """The latest first, whatever they are about."""

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
    panels = Panels(comment_panels)
    buttons = (
        Button(
            "withdraw",
            "Withdraw",
            Act.COMMENT_WITHDRAW,
            _withdraw,
            done="Withdrawn. The words stand in the history of changes alone.",
            consequence="The words go from every page; that you said something stays. They are kept in the history of changes.",
            when=_is_mine,
            leads_to=lambda comment: where_it_is_read(comment.proposal),
            tone="danger",
        ),
    )

    @admin.display(description="Comment")
    def beginning(self, comment: Comment) -> str:
        words = plain_words(comment.text[:READ])
        return words[:BEGINNING] + ("…" if len(words) > BEGINNING else "") or "withdrawn by its author"

    @admin.display(description="On", ordering="proposal")
    def about(self, comment: Comment) -> SafeString:
        return format_html('<a href="{}">{}</a>', where_it_is_read(comment.proposal), title_of(comment.proposal))

    @admin.display(description="Agent", ordering="proposal__agent__key")
    def agent_shown(self, comment: Comment) -> str:
        return str(comment.proposal.agent or "every agent")

    @admin.display(description="By", ordering="author")
    def by(self, comment: Any) -> str:
        return str(comment.people[comment.author])

    @admin.display(description="When", ordering="created_at")
    def said_at(self, comment: Comment) -> str:
        return moment(comment.created_at)

    @admin.display(description="State", ordering="status")
    def state_shown(self, comment: Comment) -> SafeString:
        return badge(comment.status)
