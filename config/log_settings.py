"""What is logged, and in which form: a line of JSON for each record, for programs, or of text for people at a terminal."""

from typing import Any, Final

FORMATTERS: Final = {
    "json": "apps.telemetry.log_formatters.JsonLines",
    "text": "apps.telemetry.log_formatters.PlainLines",
}


def logging_settings(form: str) -> dict[str, Any]:  # Any: the form of Python's own configuration of logging
    """Everything goes one way, what the servers log included."""
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"line": {"()": FORMATTERS[form]}},
        "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "line"}},
        "root": {"handlers": ["console"], "level": "INFO"},
        # One line per request to the model would say nothing the usage rows do not.
        # What the client of tool servers logs quotes what they answered.
        "loggers": {
            **{name: {"level": "WARNING"} for name in ("httpx2", "httpcore2")},
            **{name: {"level": "CRITICAL"} for name in ("mcp", "client")},
            # What is refused is in our line for each request; this one quotes the address.
            "django.request": {"level": "ERROR"},
            # The server comes with handlers of its own, which know no scene.
            **{name: {"handlers": [], "propagate": True} for name in ("uvicorn", "uvicorn.error")},
            # Its line for each request quotes the address, and with it what somebody searched for; ours names the route.
            "uvicorn.access": {"handlers": [], "propagate": True, "level": "WARNING"},
        },
    }
