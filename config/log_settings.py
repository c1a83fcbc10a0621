"""Logging configuration: one line of JSON for each record, for programs, or one of text, for people at a terminal."""

from typing import Any, Final

FORMATTERS: Final = {
    "json": "apps.telemetry.log_formatters.JsonLines",
    "text": "apps.telemetry.log_formatters.PlainLines",
}


def logging_settings(form: str) -> dict[str, Any]:  # Any: the form of Python's logging configuration
    """Return the configuration. All records go through one handler, those of the servers included."""
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"line": {"()": FORMATTERS[form]}},
        "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "line"}},
        "root": {"handlers": ["console"], "level": "INFO"},
        # One line per model request would only repeat the usage rows. The tool servers' client logs text that they answered.
        "loggers": {
            **{name: {"level": "WARNING"} for name in ("httpx2", "httpcore2")},
            **{name: {"level": "CRITICAL"} for name in ("mcp", "client")},
            # Our own line for each request shows refusals; this logger would quote the address.
            "django.request": {"level": "ERROR"},
            # The server comes with handlers of its own, which lack the log context.
            **{name: {"handlers": [], "propagate": True} for name in ("uvicorn", "uvicorn.error")},
            # The server's line for each request quotes the address, and with it search texts; ours names the route.
            "uvicorn.access": {"handlers": [], "propagate": True, "level": "WARNING"},
        },
    }
