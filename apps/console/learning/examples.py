"""Examples: corrections that people keep for every customer of an agent, where its page says that it is shown them."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest

from apps.console.framework.forms import OptionalReasonForm
from apps.console.framework.governed_admin import GovernedAdmin
from apps.console.framework.list_columns import excerpt_column
from apps.console.framework.page_actions import Button, PanelReader, Tabs
from apps.console.framework.text_diffs import field_diffs
from apps.console.learning.lessons import masked_summary
from apps.governance.policy.policy_table import Act
from apps.learning.lessons.actions import retire_example
from apps.learning.lessons.models import Example

Status = Example.Status


def example_panels(example: Any, request: HttpRequest) -> dict[str, Any]:
    """What the correction changed, and what was masked before."""
    return {
        "diffs": field_diffs({"reply": example.draft}, {"reply": example.correction}),
        "masked": masked_summary(example),
    }


def _is_approved(example: Example) -> bool:
    return bool(example.status == Status.APPROVED)


class ExampleAdmin(GovernedAdmin):
    """Those that turns may be shown first."""

    list_display = ("about", "instead", "agent", "masked_shown", "updated", "state_shown")
    list_display_links = ("about",)
    list_filter = ("agent",)
    list_select_related = ("agent",)
    search_fields = ("situation", "draft", "correction")
    search_help_text = "Search examples"
    tabs = Tabs("status", tuple(Status.choices), first=Status.APPROVED.value)
    empty = (
        "No example here. Open a lesson of a corrected draft and keep it as one: then it may help other customers too."
    )
    fields = ()
    change_form_template = "console/learning/example.html"
    panels = PanelReader(example_panels)
    buttons = (
        Button(
            "retire",
            "Retire",
            Act.EXAMPLE_RETIRE,
            retire_example,
            done="Retired. No turn that begins from now on is shown it.",
            consequence="No turn that begins from now on is shown it. It cannot be taken up again; its lesson can be kept anew.",
            form=OptionalReasonForm,
            when=_is_approved,
            tone="danger",
        ),
    )

    about = excerpt_column("What was asked", "situation")
    instead = excerpt_column("What to write instead", "correction")

    @admin.display(description="Masked")
    def masked_shown(self, example: Example) -> str:
        return masked_summary(example) or "nothing"
