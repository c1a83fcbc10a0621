"""Forms of the console: they clean the input; the action decides."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from django import forms
from django.utils.html import format_html
from unfold.widgets import (
    UnfoldAdminSelectWidget,
    UnfoldAdminTextareaWidget,
    UnfoldAdminTextInputWidget,
    UnfoldBooleanWidget,
)

from apps.console.framework.form_errors import add_refusal_to_form
from apps.conversations.models import Conversation
from apps.governance.actors import Actor
from apps.governance.errors import GovernanceError

READ_AT = "read_at"
# The button that shows the effect of saving, and saves nothing.
PREVIEW = "_preview"
PREVIEW_NOTICE = "The preview below reads what you typed. Save to keep it."


class VerbatimTextField(forms.CharField):
    """A text whose every character counts: not stripped, and with the line ends it had before a browser sent it."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**{"strip": False, "widget": UnfoldAdminTextareaWidget(attrs={"rows": 6}), **kwargs})

    def to_python(self, value: Any) -> str:
        return str(super().to_python(value) or "").replace("\r\n", "\n")


class GovernedForm(forms.ModelForm):  # type: ignore[type-arg]  # one form for every noun
    """The fields an act takes, with the version that was read when they were shown."""

    read_at = forms.IntegerField(required=False, widget=forms.HiddenInput)

    refusal: ClassVar[GovernanceError | None] = None
    counts: ClassVar[Mapping[str, int]] = {}
    actor: ClassVar[Actor]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{"label_suffix": "", **kwargs})
        self.fields[READ_AT].initial = None if self.instance._state.adding else getattr(self.instance, "version", None)
        for name in self.counts.keys() & self.fields.keys():
            self._add_character_count(name, self.counts[name])

    def _add_character_count(self, name: str, limit: int) -> None:
        field = self.fields[name]
        typed = self.data.get(name) if self.is_bound else self.get_initial_for_field(field, name)
        length = len(str(typed or "").replace("\r\n", "\n"))
        counted = '<span class="pc-count" data-counts="{}" data-limit="{}">{} of {} characters reach the model.</span>'
        field.help_text = format_html("{} " + counted, field.help_text, f"id_{name}", limit, length, limit)

    def clean(self) -> dict[str, Any]:
        """Show the refusal of the action, if it was refused."""
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        if self.refusal:
            add_refusal_to_form(self, self.refusal)
        if PREVIEW in self.data:
            raise forms.ValidationError(PREVIEW_NOTICE)
        return cleaned

    @property
    def governed_values(self) -> dict[str, Any]:
        """The values that go to the action."""
        return {name: value for name, value in self.cleaned_data.items() if name != READ_AT}


class DecisionForm(forms.Form):
    """A decision on the version that the page showed."""

    read_at = forms.IntegerField(widget=forms.HiddenInput)

    def again(self, initial: Mapping[str, Any]) -> None:
        """Adapt a refused form to what the page shows now."""


class ReasonedDecisionForm(DecisionForm):
    """A decision whose reason stays with it."""

    reason = VerbatimTextField(
        label="Why",
        max_length=2000,
        help_text="Kept in the history.",
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 2}),
    )


class OptionalReasonForm(ReasonedDecisionForm):
    """A decision whose reason is optional."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.fields["reason"].required = False
        self.fields["reason"].label = "Why (optional)"


class ConfirmationForm(OptionalReasonForm):
    """Approval; findings of the scanner, and files that nobody read completely, are confirmed with a reason."""

    confirm_findings = forms.BooleanField(
        required=False,
        label="I have looked at what is pointed out, and it may stand",
        help_text="Then say why it may.",
        widget=UnfoldBooleanWidget,
    )
    field_order = ("confirm_findings", "reason")
    # Whether the form may send words that the page did not show.
    takes_words: ClassVar[bool] = True

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if not self.is_bound:
            self.point_out(self.initial.get("findings", ()))

    def point_out(self, findings: Sequence[str]) -> None:
        """Ask to confirm the findings that the page shows; without findings, ask nothing."""
        if findings:
            pointed_out = ", ".join(findings)
            self.fields["confirm_findings"].help_text = f"Pointed out: {pointed_out}. Then say why it may stand."
        elif not (self.is_bound and self.takes_words):
            # A refused form keeps the box, because the scanner may have found something in its own words.
            del self.fields["confirm_findings"]

    def again(self, initial: Mapping[str, Any]) -> None:
        """Ask about the findings that the page shows now."""
        self.point_out(initial.get("findings", ()))


class SkillApprovalForm(ConfirmationForm):
    """Approval of exactly these bytes of a skill."""

    reviewed_sha256 = forms.CharField(widget=forms.HiddenInput)


class ResolutionForm(DecisionForm):
    """How a conversation ended."""

    outcome = forms.TypedChoiceField(
        coerce=Conversation.Outcome, choices=Conversation.Outcome.choices, widget=UnfoldAdminSelectWidget
    )


class TokenRequestForm(DecisionForm):
    """The purpose of a token, and its lifetime."""

    name = forms.CharField(max_length=80, label="What it is for", widget=UnfoldAdminTextInputWidget)
    valid_days = forms.TypedChoiceField(
        label="Valid for",
        coerce=int,
        choices=[(30, "30 days"), (90, "90 days"), (365, "365 days")],
        initial=90,
        widget=UnfoldAdminSelectWidget,
    )
