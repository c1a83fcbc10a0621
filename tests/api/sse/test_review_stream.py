"""What waits for people, followed: whose it is, what is said of it, and where somebody goes on who was cut off."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.db import connection
from django.test import AsyncClient, Client

from apps.desk.actions import dismiss_escalation, make_draft, open_escalation
from apps.desk.models import Draft, Escalation
from apps.desk.rules import Grounding
from apps.governance.proposals.actions import withdraw_proposal
from apps.review import inbox_feed
from apps.review.inbox_feed import newest_cursor
from apps.tenants.actions import issue_token
from tests.support.factories.bulk_decisions import waiting_draft
from tests.support.worlds.world import World, make_conversation, make_neighbour, make_world

REVIEW = "/api/v1/review/stream/"
SECRET = "the customer's own words"
EventBody = dict[str, Any]


def escalate(world: World) -> Escalation:
    thread = make_conversation(world)
    return open_escalation(
        thread.pk,
        actor=world.operator,
        agent_id=world.agent.pk,
        turn_id=None,
        reason=Escalation.Reason.POLICY,
        question=SECRET,
    )


def draft_reply(world: World) -> Draft:
    return make_draft(
        make_conversation(world).pk,
        actor=world.system,
        agent_id=world.agent.pk,
        turn_id=1,
        text=SECRET,
        grounding=Grounding.NONE,
        facts=(),
    )


def parse_event(piece: bytes) -> EventBody:
    """An event as a client reads it; empty where it is none."""
    fields = dict(line.split(": ", 1) for line in piece.decode().strip().splitlines() if not line.startswith(":"))
    if "event" not in fields:
        return {}
    data = json.loads(fields["data"])
    about = {"about": data.pop("id")} if "id" in data else {}
    return {"event": fields["event"], "id": fields.get("id", ""), **about, **data}


class StreamReader:
    """One client of the stream."""

    def __init__(self, pieces: AsyncIterator[bytes]) -> None:
        self._pieces = pieces
        self.raw: list[bytes] = []

    async def next(self, name: str) -> EventBody:
        """The next event of this name."""
        while True:
            heard = parse_event(await self.piece())
            if heard.get("event") == name:
                return heard

    async def piece(self) -> bytes:
        async with asyncio.timeout(15):
            self.raw.append(await anext(self._pieces))
        return self.raw[-1]


@asynccontextmanager
async def open_review_stream(client: "StreamClient", last: str = "") -> AsyncIterator[StreamReader]:
    headers = client.headers | ({"Last-Event-ID": last} if last else {})
    answer: Any = await client.client.get(REVIEW, headers=headers)
    assert answer.status_code == 200, answer.content
    pieces = aiter(answer.streaming_content)
    try:
        yield StreamReader(pieces)
    finally:
        await pieces.aclose()


@dataclass(frozen=True)
class StreamClient:
    """Somebody with what they come in by."""

    client: AsyncClient
    headers: dict[str, str]


def agent_client(world: World, token: str = "") -> StreamClient:
    return StreamClient(AsyncClient(), {"Authorization": f"Bearer {token or world.token}"})


def person_client(world: World) -> StreamClient:
    signed_in, client = Client(), AsyncClient()
    signed_in.force_login(world.operator_user)
    client.cookies = signed_in.cookies
    return StreamClient(client, {})


def token_for(world: World, agent: Any) -> str:
    return issue_token(agent, actor=world.admin, name="beside").secret


async def run_in_thread(call: Callable[[], Any]) -> Any:
    """Something of the product, in a thread and a connection of its own."""

    def done() -> Any:
        try:
            return call()
        finally:
            connection.close()

    return await sync_to_async(done, thread_sensitive=False)()


def run_story(story: Callable[[], Awaitable[None]]) -> None:
    async def told() -> None:
        async with asyncio.timeout(60):
            await story()

    asyncio.run(told())


def test_what_waits_is_told_as_it_comes_and_goes_without_a_word_of_it(committing: str) -> None:
    world = make_world()
    client = person_client(world)

    async def story() -> None:
        async with open_review_stream(client) as ear:
            waiting = await ear.next("counts")
            assert (waiting["proposals"], waiting["drafts"], waiting["escalations"]) == (0, 0, 0)
            asked = await run_in_thread(lambda: escalate(world))
            heard = await ear.next("escalation")
            assert (heard["about"], heard["change"], heard["state"]) == (asked.pk, "appeared", "open")
            assert (await ear.next("counts"))["escalations"] == 1
            await run_in_thread(lambda: dismiss_escalation(asked, actor=world.operator, reason="Settled on the phone."))
            settled = await ear.next("escalation")
            assert (settled["change"], settled["state"], settled["version"]) == ("closed", "dismissed", 2)
            proposal = await run_in_thread(lambda: waiting_draft(world))
            appeared = await ear.next("proposal")
            summary = (appeared["about"], appeared["kind"], appeared["agent_id"])
            assert summary == (proposal.pk, "skill.new", world.agent.pk)
            raw_text = b"".join(ear.raw).decode()
            assert SECRET not in raw_text
            assert proposal.target_label not in raw_text

    run_story(story)


@pytest.mark.slow
def test_nobody_hears_of_another_tenant_and_no_agent_of_another_agents(committing: str) -> None:
    # R006, R007
    world, stranger = make_world(), make_world()
    neighbour = make_neighbour(world)
    clients = {
        "person": person_client(world),
        "own agent": agent_client(world),
        "other agent": agent_client(world, token_for(world, neighbour)),
        "stranger": person_client(stranger),
        "stranger's agent": agent_client(stranger),
    }

    async def story() -> None:
        heard: dict[str, list[tuple[str, Any]]] = {}
        begun = {name: asyncio.Event() for name in clients}

        async def listen(name: str, client: StreamClient) -> None:
            async with open_review_stream(client) as ear:
                await ear.next("counts")
                begun[name].set()
                events = heard.setdefault(name, [])
                while True:
                    piece = parse_event(await ear.piece())
                    if piece.get("event") in {"proposal", "draft", "escalation"}:
                        events.append((piece["event"], piece["agent_id"]))

        tasks = [asyncio.create_task(listen(*each)) for each in clients.items()]
        await asyncio.gather(*(each.wait() for each in begun.values()))
        await run_in_thread(lambda: (waiting_draft(world), escalate(world), draft_reply(world)))
        await asyncio.sleep(1.5)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        own = [(noun, world.agent.pk) for noun in ("proposal", "escalation", "draft")]
        assert heard == {"person": own, "own agent": own, "other agent": [], "stranger": [], "stranger's agent": []}

    run_story(story)


def test_a_reconnected_client_resumes_without_repeated_events(committing: str) -> None:
    world = make_world()
    client = agent_client(world)

    async def story() -> None:
        async with open_review_stream(client) as ear:
            place = (await ear.next("counts"))["id"]
        first, second = await run_in_thread(lambda: (escalate(world), waiting_draft(world)))
        async with open_review_stream(client, last=place) as ear:
            assert (await ear.next("escalation"))["about"] == first.pk
            heard = await ear.next("proposal")
            assert heard["about"] == second.pk
        async with open_review_stream(client, last=heard["id"]) as ear:
            third = await run_in_thread(lambda: escalate(world))
            assert (await ear.next("escalation"))["about"] == third.pk
        assert not any(b"event: proposal" in piece for piece in ear.raw)

    run_story(story)


@pytest.mark.parametrize("place", ["0-", "1-00000000", "999999-12345678"])
def test_a_gap_that_cannot_be_filled_is_said(committing: str, monkeypatch: pytest.MonkeyPatch, place: str) -> None:
    monkeypatch.setattr(inbox_feed, "MOST_FEED_LINKS", 1)
    world = make_world()
    waiting_draft(world)
    client = agent_client(world)

    async def story() -> None:
        async with open_review_stream(client, last=place) as ear:
            await ear.piece()
            assert parse_event(await ear.piece())["event"] == "resync"
            assert (await ear.next("counts"))["proposals"] == 1

    run_story(story)


def test_what_was_taken_back_is_told_to_its_agent_and_to_people(committing: str) -> None:
    world = make_world()
    neighbour = make_neighbour(world)
    place = str(newest_cursor(world.tenant.pk))
    proposal = waiting_draft(world)
    withdraw_proposal(proposal, actor=world.bot)
    connection.close()
    clients = [agent_client(world), person_client(world), agent_client(world, token_for(world, neighbour))]

    async def story() -> None:
        states = []
        for client in clients:
            async with open_review_stream(client, last=place) as ear:
                heard = []
                while (event := parse_event(await ear.piece())).get("event") != "counts":
                    heard.append(event.get("state"))
                states.append([state for state in heard if state])
        assert states == [["withdrawn", "withdrawn"], ["withdrawn", "withdrawn"], []]

    run_story(story)
