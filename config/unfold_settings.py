"""Settings of unfold, the console's theme: names, files, and the source of the sidebar."""

from typing import Any

UNFOLD: dict[str, Any] = {
    "SITE_TITLE": "Preceptor",
    "SITE_HEADER": "Preceptor",
    "SITE_SUBHEADER": "apps.console.dashboard.navigation.tenant_name",
    "SITE_SYMBOL": "school",
    "SITE_URL": None,
    "SITE_FAVICONS": [{"rel": "icon", "type": "image/svg+xml", "href": "/static/console/icon.svg"}],
    "SHOW_VIEW_ON_SITE": False,
    "SHOW_HISTORY": False,
    "STYLES": ["/static/console/colours.css", "/static/console/console.css"],
    "SCRIPTS": [
        "/static/console/theme_and_sidebar.js",
        "/static/console/page_enhancements.js",
        "/static/console/keyboard_shortcuts.js",
        "/static/console/command_palette.js",
    ],
    "SIDEBAR": {"show_search": False, "navigation": "apps.console.dashboard.navigation.sidebar"},
}
