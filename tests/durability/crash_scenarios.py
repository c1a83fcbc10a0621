"""What a worker may die in the middle of: a call that waited for a person, a question to another agent, forgetting what was said.

In each scene others lived through what came before, one worker is given its part, and others go on with it.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from ipaddress import ip_network
from itertools import count
from typing import LiteralString

from django.test import override_settings

from apps.conversations.actions import resolve_conversation
from apps.conversations.models import Conversation, InboundEvent
from apps.governance.database.actor_transaction import acting_as
from apps.runtime.off_the_record_erasure import erase_if_due
from apps.runtime.tools.tool_approvals import permit_call
from apps.runtime.tools.tool_server_refresh import refresh_server
from apps.runtime.worker.sync_driver import answer_conversation
from apps.tools.models import ToolApproval
from tests.durability.forked_workers import LOOPBACK, CrashStage
from tests.durability.invariants import Bill, broken
from tests.durability.scripted_model import ANSWERED, CHECKING_REPLY, PAID, RELAYED, SAID, ScriptedModel
from tests.durability.webhook_delivery import deliver_due
from tests.support.drivers.conversation import lines, send_customer_message
from tests.support.drivers.external_tool_turns import allow_agent_tool
from tests.support.factories.external_tools import make_tool_server
from tests.support.servers.effects_server import read_effects
from tests.support.servers.tool_server import ToolServerProcess
from tests.support.servers.webhook_receiver import make_webhook
from tests.support.worlds.world import make_event, make_invokable, make_world

_numbers = count(1)

_TURNS = "SELECT id FROM runtime_turn WHERE conversation_id = %s"
# Where words of a conversation stand while it is not forgotten.
TEXT_SEARCHES: Mapping[LiteralString, LiteralString] = {
    table: f"SELECT FROM {table} AS row WHERE {of} AND row::text LIKE %s"
    for table, of in {
        "conversations_message": "conversation_id = %s",
        "conversations_inboundevent": "conversation_id = %s",
        "runtime_modelcall": f"turn_id IN ({_TURNS})",
        "runtime_toolstep": f"turn_id IN ({_TURNS})",
    }.items()
}
ERASURE_COUNT = "SELECT count(*) FROM governance_changerecord WHERE act = 'conversation.erase' AND subject_id = %s"


@dataclass(frozen=True)
class CrashScene:
    """A conversation that one worker takes; how others go on behind it, and what of that must not be."""

    conversation_id: int
    goes_on: Callable[[], None]
    flaws: Callable[[], Iterator[str]]
    job: str = "answer and tell"


@dataclass(frozen=True)
class ExternalStage:
    """A stage whose agent pays back by a real tool server, asks another agent, and whose replies a webhook is told."""

    stage: CrashStage
    served: ToolServerProcess

    def tell(self, text: str) -> InboundEvent:
        """A new customer writes."""
        number = next(_numbers)
        customer = {"thread": f"wire-{number}", "customer": f"http:wire-{number}", "key": f"wire-{number}"}
        return send_customer_message(self.stage.world, text.format(order=f"N{number}"), **customer)

    def answers(self, conversation_id: int) -> None:
        """A worker that lives answers what waits, and tells the webhook."""
        tenant_id = self.stage.world.tenant.pk
        answer_conversation(tenant_id, conversation_id, backend=ScriptedModel(self.stage.standin))
        deliver_due(tenant_id)

    def agrees(self, conversation_id: int) -> None:
        """A person lets the one call that waits be made."""
        operator = self.stage.world.operator
        with acting_as(operator):
            waiting = ToolApproval.objects.visible_to(operator).select_related("conversation__agent")
            approval = waiting.get(conversation=conversation_id)
        permit_call(approval, actor=operator)

    def below(self, conversation_id: int) -> int:
        """The conversation in which another agent was asked; raises where there is not exactly one."""
        with acting_as(self.stage.world.system):
            return int(Conversation.objects.get(parent=conversation_id).pk)

    def said(self, conversation_id: int) -> list[tuple[str, str]]:
        return lines(self.stage.world, conversation_id)

    def broken(self) -> list[str]:
        """What of all that happened here must not have happened."""
        effects = read_effects(self.stage.counter)
        paid = Counter(str(seen["key"]) for seen in self.served.seen() if seen["name"] == "refund")
        effects = replace(effects, unsafe={**effects.unsafe, **paid})
        return broken(self.stage.raw, effects=effects, bill=Bill.shown(self.stage.standin.bill()))


@contextmanager
def open_external_stage(stage: CrashStage, served: ToolServerProcess) -> Iterator[ExternalStage]:
    """The stage with a tenant of its own."""
    with override_settings(REACHABLE_NETWORKS=(ip_network(LOOPBACK),)):
        world = make_world()
        server = make_tool_server(world, served.url)
        assert refresh_server(server.pk, actor=world.operator).has_answered
        allow_agent_tool(world, server, "refund", waits=True)
        make_invokable(world)
        make_webhook(world, f"{stage.counter}/told")
        wires = ExternalStage(replace(stage, world=world), served)
        # What every session shares is kept with the first.
        for opens in (call_request_scene, question_scene):
            opens(wires).goes_on()
        yield wires


def call_request_scene(wires: ExternalStage) -> CrashScene:
    """The worker has the agent ask for a call that a person decides on."""
    thread = wires.tell("Please pay order {order} back").conversation_id

    def goes_on() -> None:
        wires.answers(thread)
        wires.agrees(thread)
        wires.answers(thread)

    return CrashScene(thread, goes_on, lambda: _check_payments(wires, thread))


def approved_call_scene(wires: ExternalStage) -> CrashScene:
    """The worker makes a call that a person has let."""
    thread = wires.tell("Please pay order {order} back").conversation_id
    wires.answers(thread)
    wires.agrees(thread)
    return CrashScene(thread, lambda: wires.answers(thread), lambda: _check_payments(wires, thread))


def question_scene(wires: ExternalStage) -> CrashScene:
    """The worker has an agent ask another."""
    thread = wires.tell("What do I owe?").conversation_id

    def goes_on() -> None:
        wires.answers(thread)
        wires.answers(wires.below(thread))
        wires.answers(thread)

    return CrashScene(thread, goes_on, lambda: _check_relayed_answer(wires, thread))


def answer_scene(wires: ExternalStage) -> CrashScene:
    """The worker has the other agent answer."""
    thread = wires.tell("What do I owe?").conversation_id
    wires.answers(thread)
    below = wires.below(thread)

    def goes_on() -> None:
        wires.answers(below)
        wires.answers(thread)

    return CrashScene(below, goes_on, lambda: _check_relayed_answer(wires, thread))


def relay_scene(wires: ExternalStage) -> CrashScene:
    """The worker has the agent that asked tell its customer."""
    thread = wires.tell("What do I owe?").conversation_id
    wires.answers(thread)
    wires.answers(wires.below(thread))
    return CrashScene(thread, lambda: wires.answers(thread), lambda: _check_relayed_answer(wires, thread))


def erasure_scene(wires: ExternalStage) -> CrashScene:
    """The worker takes its words from a conversation off the record that has ended."""
    word = f"Rumpelstiltskin-{next(_numbers)}"
    customer = {"conversation_key": word, "idempotency_key": word, "end_user_key": f"http:{word}"}
    event = make_event(wires.stage.world, f"Please note {word} for nobody", True, **customer)
    thread = event.conversation_id
    wires.answers(thread)
    resolve_conversation(event.conversation, actor=wires.stage.world.bot, outcome=Conversation.Outcome.SOLVED)
    tenant_id = wires.stage.world.tenant.pk
    deliver_due(tenant_id)
    return CrashScene(
        thread, lambda: erase_if_due(tenant_id, thread), lambda: _check_erasure(wires, thread, word), "forget"
    )


SCENES: Mapping[str, Callable[[ExternalStage], CrashScene]] = {
    "a call is asked for": call_request_scene,
    "a call is made": approved_call_scene,
    "a question is asked": question_scene,
    "a question is answered": answer_scene,
    "an answer is relayed": relay_scene,
    "words are forgotten": erasure_scene,
}


def _check_payments(wires: ExternalStage, thread: int) -> Iterator[str]:
    """Once if the customer was told so, at most once if they were told that nobody knows."""
    [(_, asked), *others] = wires.said(thread)
    replies = [text for sender, text in others if sender == "agent" and text]
    times = sum(seen["arguments"] == {"number": asked.split()[3]} for seen in wires.served.seen())
    if replies not in ([SAID, PAID], [SAID, CHECKING_REPLY]) or times > 1 or (replies[-1] == PAID and not times):
        yield f"{asked}: it was paid back {times} times, and the customer was told {replies}"


def _check_relayed_answer(wires: ExternalStage, thread: int) -> Iterator[str]:
    messages = [(sender, text) for sender, text in wires.said(thread)[1:] if text]
    if messages != [("agent", SAID), ("peer", ANSWERED), ("agent", RELAYED)]:
        yield f"conversation {thread}: what was asked and answered is {messages}"


def _check_erasure(wires: ExternalStage, thread: int, word: str) -> Iterator[str]:
    """Everywhere, once, and told of once."""
    raw = wires.stage.raw
    kept = [
        place for place, statement in TEXT_SEARCHES.items() if raw.execute(statement, [thread, f"%{word}%"]).fetchone()
    ]
    [(forgotten,)] = raw.execute("SELECT erased_at FROM conversations_conversation WHERE id = %s", [thread]).fetchall()
    [(record_count,)] = raw.execute(ERASURE_COUNT, [str(thread)]).fetchall()
    raw.commit()
    if kept or not forgotten or record_count != 1:
        yield f"conversation {thread}: {word} stands in {kept}, forgotten at {forgotten}, told of {record_count} times"
