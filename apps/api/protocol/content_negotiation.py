"""The header `Accept`: clients that are generated from the OpenAPI document name one of the types that an operation documents.

Some name only the type of refusals, because a response of 204 has no other. A refused request is a problem document in any case.
"""

from collections.abc import Iterable
from typing import Any

from rest_framework.exceptions import NotAcceptable
from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.renderers import BaseRenderer, JSONRenderer
from rest_framework.request import Request

from apps.api.protocol.problem_details import CONTENT_TYPE


class ProblemNegotiation(DefaultContentNegotiation):
    """Accepts a client that names only the type of problem documents."""

    def select_renderer(
        self, request: Request, renderers: Iterable[BaseRenderer], format_suffix: str | None = None
    ) -> Any:  # Any: the renderer and its media type
        """Return the renderer and the media type of the response."""
        first, *others = renderers
        try:
            return super().select_renderer(request, [first, *others], format_suffix)
        except NotAcceptable:
            if not any(each.partition(";")[0].strip() == CONTENT_TYPE for each in self.get_accept_list(request)):
                raise
            return first, first.media_type


class FileRenderer(JSONRenderer):
    """Accepts a request for the type of a file. The view sends the file itself; this renders its refusals."""


class ZipRenderer(FileRenderer):
    """Accepts a request for a zip archive."""

    media_type = "application/zip"


class BytesRenderer(FileRenderer):
    """Accepts a request for any file."""

    media_type = "application/octet-stream"


class JsonLinesRenderer(FileRenderer):
    """Accepts a request for lines of JSON."""

    media_type = "application/jsonl"


class TextRenderer(FileRenderer):
    """Accepts a request for text."""

    media_type = "text/plain"


def file_type(request: Request, default: type[FileRenderer]) -> str:
    """Return the type of the file that the client accepts."""
    accepted = request.accepted_renderer
    return accepted.media_type if isinstance(accepted, FileRenderer) else default.media_type
