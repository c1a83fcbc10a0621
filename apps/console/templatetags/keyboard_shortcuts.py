"""The keyboard shortcuts of a page, for its templates."""

from typing import Any

from django import template

from apps.console.framework.keyboard_shortcuts import BUTTON_KEYS, KEY_HELP, page_shortcuts

register = template.Library()


@register.filter
def key_of(button: Any) -> str:
    """Return the key that leads to a button's form; empty if there is none."""
    return BUTTON_KEYS.get(button.name, "")


@register.inclusion_tag("console/framework/keyboard_shortcuts.html")
def help_sheet() -> dict[str, Any]:
    """Return the contents of the help sheet of all keys, which one of them opens."""
    return {"sheet": KEY_HELP, "ways": list(page_shortcuts())}
