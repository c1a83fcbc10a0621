"""Forms of decisions on proposals; a form that edits texts has one field for each text."""

from collections.abc import Iterator, Mapping
from typing import Any

from django import forms
from unfold.widgets import UnfoldAdminTextareaWidget, UnfoldBooleanWidget

from apps.console.framework.forms import ConfirmationForm, DecisionForm, OptionalReasonForm, VerbatimTextField
from apps.console.framework.text_diffs import field_label
from apps.console.review.proposal_wording import as_text
from apps.governance.models import Proposal

TEXT_PREFIX, LINES_PREFIX, DAYS_PREFIX = "text__", "lines__", "days__"
FIELD_PREFIXES = (TEXT_PREFIX, LINES_PREFIX, DAYS_PREFIX)
SECTION_PREFIX = "take__"


def words_as_fields(words: Mapping[str, Any]) -> dict[str, str]:
    """Return the initial values of an editing form: lines one below the other, each behind its day if it has one."""
    return {_field_prefix(value) + name: as_text(value) for name, value in words.items()}


class RejectionForm(OptionalReasonForm):
    """Rejection, with a code for the reason."""

    reason_code = forms.ChoiceField(
        choices=Proposal.Reason.choices,
        label="What is wrong with it",
        widget=forms.RadioSelect(attrs={"class": "pc-chips"}),
    )
    field_order = ("reason_code", "reason")


class SnoozeForm(DecisionForm):
    """The number of days for which a proposal is snoozed."""

    days = forms.TypedChoiceField(
        label="For",
        coerce=int,
        choices=[(1, "a day"), (3, "three days"), (7, "a week"), (30, "thirty days")],
        initial=1,
        widget=forms.RadioSelect(attrs={"class": "pc-chips"}),
    )


class ProposalApprovalForm(ConfirmationForm):
    """Approval of exactly the bytes of a proposal."""

    reviewed_sha256 = forms.CharField(widget=forms.HiddenInput)


class WordingForm(forms.Form):
    """A decision that may change the texts: one field for each, named by the code that fills the form."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        named = [name for name in self.data or self.initial if name.startswith(FIELD_PREFIXES)]
        self.fields |= {name: _words_field(name) for name in named}
        self.order_fields([*named, *(name for name in self.fields if name not in named)])

    @property
    def typed(self) -> dict[str, str]:
        """The texts as they were typed."""
        return {name: value for name, value in self.cleaned_data.items() if name.startswith(FIELD_PREFIXES)}

    def clean(self) -> dict[str, Any]:
        """Return the values of the form, with the edited texts under `typed` and `content`."""
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        return {**cleaned, "typed": self.typed, "content": dict(_parse_words(self.typed))}


class EditedApprovalForm(WordingForm, ProposalApprovalForm):
    """Approval of the texts as the reviewer edited them."""

    target_version = forms.IntegerField(required=False, widget=forms.HiddenInput)


class SectionApprovalForm(ProposalApprovalForm):
    """Approval of some sections, each with a box to tick; the code that fills the form names those on offer."""

    offered = forms.CharField(widget=forms.HiddenInput)
    takes_words = False

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.named = str((self.data or self.initial).get("offered", "")).split()
        boxes = {SECTION_PREFIX + name: _section_checkbox(name) for name in self.named}
        self.fields |= boxes
        self.order_fields([*boxes, *(name for name in self.fields if name not in boxes)])

    def clean(self) -> dict[str, Any]:
        """Refuse an approval without any section."""
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        sections = [name for name in self.named if cleaned.get(SECTION_PREFIX + name)]
        if not sections:
            self.add_error(None, "Tick at least one section. To take none of them, reject the proposal.")
        return {**cleaned, "sections": sections}


class RebaseForm(WordingForm, DecisionForm):
    """The texts to keep on top of the live version."""


def _field_prefix(value: Any) -> str:
    if isinstance(value, Mapping):
        return DAYS_PREFIX
    return LINES_PREFIX if isinstance(value, list) else TEXT_PREFIX


def _section_checkbox(name: str) -> forms.BooleanField:
    return forms.BooleanField(required=False, label=field_label(name).capitalize(), widget=UnfoldBooleanWidget)


def _words_field(name: str) -> VerbatimTextField:
    kind = next(kind for kind in FIELD_PREFIXES if name.startswith(kind))
    plain = field_label(name.removeprefix(kind)).capitalize()
    hint = {TEXT_PREFIX: "", LINES_PREFIX: ", one to a line", DAYS_PREFIX: ", a day and its line to each line"}[kind]
    return VerbatimTextField(required=False, label=plain + hint, widget=UnfoldAdminTextareaWidget(attrs={"rows": 3}))


def _parse_words(typed: Mapping[str, str]) -> Iterator[tuple[str, Any]]:
    for name, value in typed.items():
        lines = [line.strip() for line in value.splitlines() if line.strip()]
        if name.startswith(TEXT_PREFIX):
            yield name.removeprefix(TEXT_PREFIX), value
        elif name.startswith(LINES_PREFIX):
            yield name.removeprefix(LINES_PREFIX), lines
        elif lines:
            dated = (line.partition(" ") for line in lines)
            yield name.removeprefix(DAYS_PREFIX), {line.strip(): day for day, _, line in dated}
