"""Console pages after each kind of act: Home, the list of what was changed, and the page of the changed row."""

from collections.abc import Iterator

from django.apps import apps
from django.test import Client
from django.urls import reverse

from apps.console.framework.row_urls import url_of_subject
from apps.governance.errors import GovernanceError
from tests.random_acts.superuser_observer import RecordRow, RowKey
from tests.random_acts.two_tenants import ActingTenant, NoRowForAct
from tests.support.drivers.console_client import list_of

_READERS = ("admin", "operator", "second operator")
_HOST = "localhost"
_HOME = reverse("admin:index")
# A page may be gone, or closed to a member whose role or rights an act has changed.
_REFUSALS = (302, 403, 404)


class ConsolePageVisits:
    """The pages that a person opens after the first act of each kind in a run, so that each act is shown once."""

    def __init__(self) -> None:
        self._shown: set[tuple[int, str]] = set()

    def flaws(self, records: list[RecordRow], sides: tuple[ActingTenant, ActingTenant]) -> Iterator[str]:
        """Yield each page that answers with an error, and Home if it does not open."""
        for record in records:
            side = next((each for each in sides if each.tenant_id == record.tenant_id), None)
            if side is None or (record.tenant_id, record.act) in self._shown:
                continue
            client = _client_of_a_member(side)
            if client is not None:
                self._shown.add((record.tenant_id, record.act))
                yield from _failing_pages(client, record)


def _client_of_a_member(side: ActingTenant) -> Client | None:
    for name in _READERS:
        try:
            side.actor(name)
        except (NoRowForAct, GovernanceError):
            continue
        client = Client(raise_request_exception=False, SERVER_NAME=_HOST)
        client.force_login(side.people[name])
        return client
    return None


def _failing_pages(client: Client, record: RecordRow) -> Iterator[str]:
    for path in _paths_after(record.subject):
        status = client.get(path).status_code
        if status != 200 and (path == _HOME or status not in _REFUSALS):
            yield f"{path} answers {status} after {record.act}"


def _paths_after(subject: RowKey) -> Iterator[str]:
    yield _HOME
    if page := url_of_subject(*subject):
        yield f"{list_of(apps.get_model(subject[0]))}?tab=all"
        yield page
