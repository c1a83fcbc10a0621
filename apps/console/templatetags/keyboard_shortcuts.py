"""The keys of a page, for its templates."""

from typing import Any

from django import template

from apps.console.framework.keyboard_shortcuts import OF_BUTTONS, SHEET, ways

register = template.Library()


@register.filter
def key_of(button: Any) -> str:
    """The key that leads to a button's form; empty where none does."""
    return OF_BUTTONS.get(button.name, "")


@register.inclusion_tag("console/framework/keyboard_shortcuts.html")
def help_sheet() -> dict[str, Any]:
    """Everything that keys do, to be opened by one of them."""
    return {"sheet": SHEET, "ways": list(ways())}
