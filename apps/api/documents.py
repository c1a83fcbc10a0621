"""Answers that are kept as files: machines read them, and so does whoever opens one."""

# ruff: noqa: ARG002  # DRF calls this method by its own signature.

from collections.abc import Mapping
from typing import Any

from rest_framework.renderers import JSONRenderer


class Document(JSONRenderer):
    """JSON with a line for each value, as the command prints it."""

    def get_indent(self, accepted_media_type: str, renderer_context: Mapping[str, Any]) -> int:
        return 2
