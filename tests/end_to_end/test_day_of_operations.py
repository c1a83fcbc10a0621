"""A day of operations on a running product. After each event of the day, every page of the sidebar opens."""

import os
import re
import shutil
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from itertools import count

import pytest
from django.db import connections
from django.test import Client
from django.urls import reverse

from apps.conversations.models import Conversation, InboundEvent, Message
from apps.governance.database.actor_transaction import acting_as
from apps.launcher.child_processes import wait_until
from apps.launcher.postgres import Postgres
from apps.runtime.models import Turn
from apps.tenants.delay_notices import DEFAULT_DELAY_NOTICE
from tests.commands.test_container_backup import Container, container, documented_commands, user
from tests.end_to_end.worker.test_crash_recovery import (
    make_answered_world,
    post,
    stall_next_call,
    wait_for_requests,
    wait_until_finished,
)
from tests.end_to_end.worker.test_frozen_servers import broker_process, database_processes
from tests.support.drivers.console_client import page_of, page_words
from tests.support.drivers.conversation import prompt
from tests.support.drivers.rest_client import RestClient
from tests.support.factories.delayed_turns import set_day_budget, spend_day_budget
from tests.support.factories.lessons import make_version
from tests.support.servers.frozen_processes import frozen
from tests.support.servers.running_product import RunningProduct
from tests.support.timeouts import PATIENCE_SECONDS
from tests.support.worlds.world import World, make_skill

__all__ = ["container", "user"]
pytestmark = [
    pytest.mark.slow,
    pytest.mark.unmeasured,
    pytest.mark.skipif(os.geteuid() != 0, reason="Only root can start a process of another user."),
    pytest.mark.skipif(not shutil.which("setpriv"), reason="setpriv is missing. Debian: apt-get install util-linux"),
]

_SIDEBAR_LINK = re.compile(r'<a href="(/admin/[^"#?]+)"')
STALL_SECONDS = 4


@dataclass
class OperationsDay:
    """The product, its tenant, and a person at the console."""

    product: RunningProduct
    world: World
    console: Client
    rest: RestClient
    keys: "count[int]" = field(default_factory=count)

    def receive(self) -> InboundEvent:
        """A customer's message through the API."""
        return post(self.product, self.world, f"message {next(self.keys)}")

    def answer(self) -> InboundEvent:
        """A customer's message that a worker answers."""
        event = self.receive()
        assert wait_until_finished(self.world, event)
        return event

    def turn_of(self, event: InboundEvent) -> Turn | None:
        with acting_as(self.world.system):
            event.refresh_from_db()
            return Turn.objects.filter(pk=event.turn_id or 0).first()

    def replies(self, event: InboundEvent) -> list[str]:
        """What the agent has sent to the customer, oldest first."""
        with acting_as(self.world.system):
            rows = Message.objects.filter(conversation=event.conversation_id, sender="agent", is_reply=True)
            return list(rows.order_by("position").values_list("text", flat=True))

    def conversation_of(self, event: InboundEvent) -> Conversation:
        with acting_as(self.world.system):
            return Conversation.objects.get(pk=event.conversation_id)

    def open_every_page(self, after: str) -> None:
        """Open Home, every page of the sidebar, and those of the conversations."""
        home = self.console.get(reverse("admin:index"))
        assert home.status_code == 200, f"Home after {after}"
        paths = sorted(set(_SIDEBAR_LINK.findall(home.content.decode())))
        assert len(paths) > 40, paths
        with acting_as(self.world.system):
            paths += [page_of(each) for each in Conversation.objects.order_by("-pk")[:2]]
        answers = {path: self.console.get(path, follow=True).status_code for path in paths if "logout" not in path}
        assert {path: status for path, status in answers.items() if status != 200} == {}, after


@pytest.fixture
def day(own_product: RunningProduct) -> OperationsDay:
    world = make_answered_world()
    console, operator = (Client(raise_request_exception=False) for _ in range(2))
    console.force_login(world.admin_user)
    operator.force_login(world.operator_user)
    own_product.start_web()
    own_product.start_worker()
    own_product.start_beat()
    own_product.await_ready()
    return OperationsDay(own_product, world, console, RestClient(operator))


def test_a_day_of_operations(day: OperationsDay, container: Container, postgres: Postgres) -> None:
    events: dict[str, Callable[[OperationsDay], None]] = {
        "the budget was spent and raised": spend_and_raise_the_budget,
        "the broker was frozen": freeze_the_broker,
        "the database was paused": partial(pause_the_database, postgres=postgres),
        "a worker was killed": kill_the_worker,
        "a takeover in mid-turn": take_over_in_mid_turn,
        "quarantine with an open session": quarantine_with_an_open_session,
        "a learning version was withdrawn": withdraw_a_learning_version,
        "a backup was restored": partial(back_up_and_restore, container=container),
    }
    for name, happens in events.items():
        happens(day)
        day.open_every_page(name)


def spend_and_raise_the_budget(day: OperationsDay) -> None:
    spend_day_budget(day.world)
    event = day.receive()
    assert wait_until(lambda: day.replies(event) == [DEFAULT_DELAY_NOTICE], PATIENCE_SECONDS, 0.2)
    words = page_words(day.console.get(page_of(day.conversation_of(event))))
    assert "Hello there." in words
    assert "The answer is delayed." in words
    set_day_budget(day.world, None)
    assert wait_until_finished(day.world, event)
    assert len(day.replies(event)) == 2


def freeze_the_broker(day: OperationsDay) -> None:
    with frozen(broker_process(day.product)):
        day.answer()


def pause_the_database(day: OperationsDay, *, postgres: Postgres) -> None:
    taken: list[InboundEvent] = []

    def receive() -> None:
        taken.append(day.receive())
        connections.close_all()

    with frozen(*database_processes(postgres)):
        waiting = threading.Thread(target=receive)
        waiting.start()
        waiting.join(STALL_SECONDS)
        assert taken == []
    waiting.join(PATIENCE_SECONDS)
    [event] = taken
    assert wait_until_finished(day.world, event)


def kill_the_worker(day: OperationsDay) -> None:
    before = len(day.product.standin.requests())
    stall_next_call(day.product, 30)
    event = day.receive()
    assert wait_for_requests(day.product, before + 1)
    replies = len(day.replies(event))
    day.product.kill("worker")
    day.product.start_worker()
    day.product.await_ready()
    assert wait_until_finished(day.world, event)
    assert len(day.replies(event)) == replies + 1


def take_over_in_mid_turn(day: OperationsDay) -> None:
    before = len(day.product.standin.requests())
    stall_next_call(day.product, STALL_SECONDS)
    event = day.receive()
    assert wait_for_requests(day.product, before + 1)
    path = f"conversations/{event.conversation_id}"
    assert day.rest.post(f"{path}/take-over/", {}).status == 200
    length = day.rest.get(f"{path}/").body["length"]
    replies = day.replies(event)
    written = day.rest.post(f"{path}/messages/", {"text": "I will look.", "seen_length": length})
    assert written.status == 201, written.body
    assert day.replies(event) == replies, "the agent sends nothing any more"
    assert day.rest.post(f"{path}/hand-back/", {}).status == 200
    day.answer()


def quarantine_with_an_open_session(day: OperationsDay) -> None:
    skill = make_skill(day.world, "approved")
    end = f"agents/{day.world.agent.pk}/end-sessions/"
    assert day.rest.post(end, {"reason": "A new skill."}).status == 200
    day.answer()
    assert skill.name in prompt(day.product.standin.requests()[-1])
    assert day.rest.post(f"skills/{skill.pk}/quarantine/", {"reason": "Planted."}).status == 200
    day.answer()
    assert skill.name not in prompt(day.product.standin.requests()[-1])


def withdraw_a_learning_version(day: OperationsDay) -> None:
    version = make_version(day.world, "active")
    withdrawn = day.rest.post(f"learning-versions/{version.pk}/withdraw/", {"reason": "Wrong."})
    assert withdrawn.status == 200, withdrawn.body
    day.answer()


def back_up_and_restore(day: OperationsDay, *, container: Container) -> None:
    create, _, restore = documented_commands()
    event = day.answer()
    made = container.run_documented(create)
    assert "1 attachments" in made.stdout, made.stderr
    kept, content = day.replies(event), container.stored.read_bytes()
    container.stored.unlink()
    day.answer()
    for name in ("beat", "worker", "web"):
        day.product.end(name)
    connections.close_all()
    restored = container.run_documented(restore)
    assert restored.returncode == 0, restored.stderr
    assert container.stored.read_bytes() == content
    assert day.replies(event) == kept
    day.product.start_web()
    day.product.start_worker()
    day.product.start_beat()
    day.product.await_ready()
    day.answer()
