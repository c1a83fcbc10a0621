"""What is logged where."""

from typing import Any, Final

# Any: the form of Python's own configuration of logging
LOGGING: Final[dict[str, Any]] = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"format": "{asctime} {levelname} {name} {message}", "style": "{"}},
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["console"], "level": "INFO"},
    # One line per request to the model would say nothing the usage rows do not.
    # What the client of tool servers logs quotes what they answered.
    "loggers": {
        **{name: {"level": "WARNING"} for name in ("httpx2", "httpcore2")},
        **{name: {"level": "CRITICAL"} for name in ("mcp", "client")},
    },
}
