"""The page that shows the OpenAPI document to people.

The page has its own Content-Security-Policy, because Swagger UI sets inline styles.
"""

from typing import Any, Final

from drf_spectacular.utils import extend_schema
from drf_spectacular.views import SpectacularSwaggerSplitView
from rest_framework.request import Request
from rest_framework.response import Response

# The page loads scripts only from this server, and uses inline styles and inline pictures.
CONTENT_SECURITY_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self';"
    " base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


class SwaggerPageView(SpectacularSwaggerSplitView):
    """Shows every operation with its bodies and responses, which a signed-in person can try."""

    @extend_schema(exclude=True)
    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:  # Any: the arguments of the view
        """Return the page, or the script that starts it."""
        answer: Response = super().get(request, *args, **kwargs)  # type: ignore[no-untyped-call]  # the library has no types
        answer.headers["Content-Security-Policy"] = CONTENT_SECURITY_POLICY
        return answer
