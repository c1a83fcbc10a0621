"""A person for all tenants, who approves every tool call that waits."""

import threading
from collections.abc import Iterable

from django.db import DatabaseError, InterfaceError, connection

from apps.governance.database.actor_transaction import acting_as
from apps.runtime.tools.tool_approvals import permit_call
from apps.tools.models import ToolApproval
from tests.support.worlds.world import World

PAUSE_SECONDS = 0.3


class Approver:
    """Approves from a thread of its own until it is stopped."""

    def __init__(self, worlds: Iterable[World]) -> None:
        self._worlds = tuple(worlds)
        self._stopped = threading.Event()
        self._looking = threading.Thread(target=self._approve_until_stopped, name="colleague", daemon=True)
        self.agreed = 0

    def start(self) -> None:
        self._looking.start()

    def stop(self) -> None:
        """Return when no decision is under way."""
        self._stopped.set()
        self._looking.join()

    def _approve_until_stopped(self) -> None:
        try:
            while not self._stopped.wait(PAUSE_SECONDS):
                self._approve_all()
        finally:
            connection.close()

    def _approve_all(self) -> None:
        """Approve every waiting call. The database may be down; approvals made before that are kept."""
        try:
            for world in self._worlds:
                self._approve_call(world)
        except (DatabaseError, InterfaceError):
            connection.close()

    def _approve_call(self, world: World) -> None:
        operator = world.operator
        with acting_as(operator):
            asked = ToolApproval.objects.visible_to(operator).filter(status=ToolApproval.Status.WAITING)
            waiting = list(asked.select_related("conversation__agent"))
        for approval in waiting:
            permit_call(approval, actor=operator)
            self.agreed += 1
