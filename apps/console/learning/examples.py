"""Examples: corrections that people keep for all customers of an agent; turns use them if the agent's settings say so."""

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
    """Return the changes of the correction, and what was masked before it was kept."""
    return {
        "diffs": field_diffs({"reply": example.draft}, {"reply": example.correction}),
        "masked": masked_summary(example),
    }


def _is_approved(example: Example) -> bool:
    return bool(example.status == Status.APPROVED)


class ExampleAdmin(GovernedAdmin):
    """Examples: those that turns may use come first."""

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
            done="Retired. Turns that begin from now on do not use it.",
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
