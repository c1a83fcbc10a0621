"""How unfold draws the console: names, colours, and where it asks for the sidebar."""

from typing import Any

UNFOLD: dict[str, Any] = {
    "SITE_TITLE": "Preceptor",
    "SITE_HEADER": "Preceptor",
    "SITE_SUBHEADER": "apps.console.navigation.tenant_name",
    "SITE_SYMBOL": "school",
    "SITE_URL": None,
    "SITE_FAVICONS": [{"rel": "icon", "type": "image/svg+xml", "href": "/static/console/icon.svg"}],
    "SHOW_VIEW_ON_SITE": False,
    "SHOW_HISTORY": False,
    "BORDER_RADIUS": "6px",
    "STYLES": ["/static/console/console.css"],
    "SCRIPTS": ["/static/console/console.js", "/static/console/keys.js", "/static/console/palette.js"],
    "SIDEBAR": {"show_search": False, "navigation": "apps.console.navigation.sidebar"},
    # A teal that keeps 4.5:1 against white at 600 and against the dark ground at 400 and 500.
    "COLORS": {
        "primary": {
            "50": "oklch(98.4% .014 180.7)",
            "100": "oklch(95.3% .051 180.8)",
            "200": "oklch(91% .096 180.4)",
            "300": "oklch(85.5% .138 181.1)",
            "400": "oklch(77.7% .152 181.9)",
            "500": "oklch(70.4% .14 182.5)",
            "600": "oklch(51.1% .096 186.4)",
            "700": "oklch(45% .085 188)",
            "800": "oklch(39% .07 188.2)",
            "900": "oklch(34% .058 188.4)",
            "950": "oklch(27.7% .046 192.5)",
        },
    },
}
