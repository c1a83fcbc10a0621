"""The page that reads the schema to people, under a policy of its own: it is Swagger's, and its script writes styles."""

from typing import Any, Final

from drf_spectacular.utils import extend_schema
from drf_spectacular.views import SpectacularSwaggerSplitView
from rest_framework.request import Request
from rest_framework.response import Response

# Its scripts are files and an answer of this server; it draws with styles and pictures that stand in the page itself.
CONTENT_SECURITY_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self';"
    " base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


class SwaggerPageView(SpectacularSwaggerSplitView):
    """Every operation with its bodies and answers, to be tried by whoever signed in."""

    @extend_schema(exclude=True)
    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:  # Any: the view's own
        """The page, or the script that starts it."""
        answer: Response = super().get(request, *args, **kwargs)  # type: ignore[no-untyped-call]  # the library says none
        answer.headers["Content-Security-Policy"] = CONTENT_SECURITY_POLICY
        return answer
