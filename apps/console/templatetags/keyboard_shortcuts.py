"""The keys of a page, for its templates."""

from typing import Any

from django import template

from apps.console.framework.keyboard_shortcuts import BUTTON_KEYS, KEY_HELP, page_shortcuts

register = template.Library()


@register.filter
def key_of(button: Any) -> str:
    """The key that leads to a button's form; empty where none does."""
    return BUTTON_KEYS.get(button.name, "")


@register.inclusion_tag("console/framework/keyboard_shortcuts.html")
def help_sheet() -> dict[str, Any]:
    """Everything that keys do, to be opened by one of them."""
    return {"sheet": KEY_HELP, "ways": list(page_shortcuts())}
