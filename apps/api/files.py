"""Where signed links lead: the file as a download, or one sentence that says nothing about what there is."""

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.views.decorators.http import require_safe

from apps.governance.errors import NotVisible
from apps.skills.attachments.attachment_access import content_of
from apps.skills.attachments.blob_store import address_elsewhere, disposition
from apps.skills.attachments.signed_links import file_behind
from apps.skills.skill_validation import Attached

# A file is somebody else's bytes: nothing in it runs, loads or is kept on the way.
HEADERS = {
    "Cache-Control": "private, no-store",
    "Content-Security-Policy": "sandbox; default-src 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


@require_safe
def signed_file(request: HttpRequest, token: str) -> HttpResponse:
    """Whoever holds the link gets the file while its first holder still may; the bytes are compared on every way out."""
    del request
    try:
        file = file_behind(token)
        content = content_of(file)
    except NotVisible as refusal:
        return HttpResponse(f"{refusal}\n", "text/plain; charset=utf-8", 404, headers=HEADERS)
    return _elsewhere(file) or HttpResponse(content, _kind(file), headers=_headers(file))


def _elsewhere(file: Attached) -> HttpResponse | None:
    address = address_elsewhere(file)
    return HttpResponseRedirect(address, headers=HEADERS) if address else None


def _kind(file: Attached) -> str:
    return f"{file.media_type}; charset=utf-8" if file.media_type.startswith("text/") else file.media_type


def _headers(file: Attached) -> dict[str, str]:
    return {**HEADERS, "Content-Disposition": disposition(file.name)}
