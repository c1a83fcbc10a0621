"""The playground's pages: an agent is tried without a script, its prompt beside, and nothing of it stands in any list."""

from datetime import UTC, datetime
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from apps.console.chat.playground_trials import PROPOSALS_OFFERED
from apps.console.conversations.transcripts import TranscriptStep, shown_tool_call, transcript_text
from apps.console.site import ADMINS_BY_MODEL
from apps.conversations.models import Conversation
from apps.governance.database.actor_transaction import acting_as
from apps.governance.models import Proposal, Taint
from apps.governance.policy.policy_table import Act
from apps.personas.actions import propose_patch
from apps.personas.models import Persona
from apps.prompt.tables_and_charts import Figure
from apps.review.proposal_submission import submit_proposal
from apps.runtime.models import Session
from apps.runtime.worker.sync_driver import answer_conversation
from tests.support.drivers.console_client import form_values, list_of, page_of, page_words, save_form
from tests.support.drivers.conversation import reply
from tests.support.factories.member_talks import make_assistant, make_trial, message_assistant
from tests.support.parameter_sampling import share_of
from tests.support.servers.standin_model import StandIn
from tests.support.worlds.world import World, make_event, make_limit, make_persona, make_skill

SENTINEL = "xyzzy-4711"
STYLE = "Sing every answer."


@pytest.fixture
def proposal(world: World) -> Proposal:
    make_persona(world)
    with acting_as(world.operator):
        persona = Persona.objects.get(agent=world.agent)
    content = {"style": STYLE}
    submit_proposal(Proposal.Kind.PERSONA_FIELDS, persona.pk, actor=world.bot, content=content, taint=Taint.AGENT)
    return latest_open_proposal(world)


def latest_open_proposal(world: World) -> Proposal:
    with acting_as(world.operator):
        return Proposal.objects.visible_to(world.operator).open().latest("pk")


def start_trial(client: Client, world: World, **typed: object) -> Any:
    path = reverse("admin:playground")
    return save_form(client, path, **{"agent": world.agent.pk, "text": "Where is my parcel?"} | typed)


def trial_of(world: World) -> Conversation:
    with acting_as(world.operator):
        return Conversation.objects.trials_of(world.operator_user.pk).latest("pk")


def answer_trial(world: World, standin: StandIn, text: str = "On its way.") -> Conversation:
    trial = trial_of(world)
    standin.play(reply(text))
    answer_conversation(trial.tenant_id, trial.pk, backend=standin.backend)
    return trial


@pytest.mark.slow
def test_an_operator_tries_a_proposal_sees_its_words_and_forgets(
    operator: Client, admin: Client, world: World, proposal: Proposal, standin: StandIn
) -> None:
    assert "Try it in the playground" in page_words(operator.get(page_of(proposal)))
    asked = operator.get(reverse("admin:playground"), {"proposal": proposal.pk, "agent": world.agent.pk})
    assert f'<option value="{proposal.pk}" selected>' in asked.content.decode()
    sent = start_trial(operator, world, proposal=proposal.pk)
    assert sent.status_code == 303
    slow = operator.get(sent.url)
    assert "The agent is answering" in page_words(slow)
    assert "as soon as the agent is asked" in page_words(slow)
    assert "data-hears=" in slow.content.decode()
    trial = answer_trial(world, standin)
    page = operator.get(sent.url)
    assert "On its way." in page_words(page)
    assert f"<ins>{STYLE}</ins>" in page.content.decode()
    assert "bytes, about" in page_words(page)
    assert "On its way." in page_words(operator.get(reverse("admin:playground")))
    download = reverse("admin:trial_messages", args=[trial.pk])
    assert f'href="{download}"' in page.content.decode()
    kept = operator.get(download)
    assert kept["Content-Disposition"] == f'attachment; filename="playground-{trial.pk}.txt"'
    transcript = kept.content.decode()
    for words in (f"live with proposal {proposal.pk}.", "Where is my parcel?", "On its way.", world.agent.key):
        assert words in transcript
    assert admin.get(download).status_code == 404
    forgotten = operator.post(reverse("admin:forget_trial", args=[trial.pk]), follow=True)
    assert "Forgotten." in page_words(forgotten)
    assert "On its way." not in page_words(forgotten)
    assert operator.get(sent.url).status_code == operator.get(download).status_code == 404
    with acting_as(world.operator):
        assert [*trial.messages.values_list("text", flat=True)] == ["", ""]


def test_a_talk_as_text_has_tools_and_what_they_showed() -> None:
    call = shown_tool_call("render_table", {"title": "Parcels"}, "Shown.", is_error=False)
    at = datetime(2026, 11, 23, 9, 30, tzinfo=UTC)
    shown: tuple[Figure, ...] = ({"kind": "table", "text": "Parcels: 2"},)
    line = TranscriptStep(1, "agent", "Here they are.", (call,), shown, at, 7, is_reply=True, message_id=9, reports=())
    transcript = transcript_text([line], ["Head."])
    assert transcript.startswith(
        "Head.\n\nAgent, 2026-11-23 09:30 UTC:\nHere they are.\nParcels: 2\ntool render_table("
    )
    assert transcript.endswith("Shown.\n")


@pytest.mark.slow
def test_the_newest_proposals_are_offered_and_an_older_one_by_its_link(
    operator: Client, world: World, proposal: Proposal
) -> None:
    for number in range(PROPOSALS_OFFERED):
        make_skill(world, name=f"runbook-{number}", actor=world.system)
    page = reverse("admin:playground")
    option = f'<option value="{proposal.pk}"'
    shown = operator.get(page).content.decode()
    assert (shown.count("Live with proposal"), option in shown) == (PROPOSALS_OFFERED, False)
    linked = operator.get(f"{page}?proposal={proposal.pk}").content.decode()
    assert (linked.count("Live with proposal"), f"{option} selected" in linked) == (PROPOSALS_OFFERED + 1, True)
    assert operator.get(f"{page}?proposal={'9' * 30}").status_code == 200
    assert start_trial(operator, world, proposal=proposal.pk).status_code == 303


@pytest.mark.parametrize("page", ["playground", "assistant"])
def test_who_may_begin_no_talk_is_told_so_in_place_of_a_form(operator: Client, world: World, page: str) -> None:
    make_assistant(world)
    assert "Begin" in page_words(operator.get(reverse(f"admin:{page}")))
    make_limit(world, Act.CONVERSATION_TALK)
    shown = operator.get(reverse(f"admin:{page}"))
    assert "You may begin no talk with any agent." in page_words(shown)
    assert reverse("admin:tenants_memberlimit_changelist") in shown.content.decode()
    assert "Your message" not in page_words(shown)


def test_what_is_live_is_tried_as_it_is(operator: Client, world: World, proposal: Proposal, standin: StandIn) -> None:
    sent = start_trial(operator, world)
    answer_trial(world, standin)
    page = operator.get(sent.url).content.decode()
    assert STYLE not in page
    assert "<ins" not in page
    # The same page sent twice is one message.
    values = form_values(page, sent.url) | {"text": "And now?"}
    for _ in range(2):
        operator.post(sent.url, values)
    with acting_as(world.operator):
        assert trial_of(world).events.filter(text="And now?").count() == 1


def test_what_cannot_be_tried_is_said_beside_its_field_and_nothing_typed_is_lost(
    operator: Client, world: World, proposal: Proposal
) -> None:
    with acting_as(world.operator):
        persona = Persona.objects.get(agent=world.agent)
    patch = propose_patch(persona, actor=world.bot, text="Be warmer.", evidence={}, taint=Taint.AGENT)
    wordless = start_trial(operator, world, proposal=patch.pk)
    assert wordless.status_code == 422
    assert "has no final wording yet" in page_words(wordless)
    assert "Where is my parcel?" in wordless.content.decode()
    blank = start_trial(operator, world, text=" ")
    assert blank.status_code == 422
    other = make_assistant(world)
    assert start_trial(operator, other).status_code == 422


def test_nobody_finds_a_colleagues_talk(operator: Client, admin: Client, world: World) -> None:
    trial = make_trial(world)
    message_assistant(trial, SENTINEL, world.operator)
    for name in ("trial", "forget_trial"):
        assert admin.post(reverse(f"admin:{name}", args=[trial.pk])).status_code == 404
    assert admin.get(reverse("admin:trial", args=[trial.pk])).status_code == 404
    # Nor is it one with an assistant.
    assert operator.get(reverse("admin:talk", args=[trial.pk])).status_code == 404
    assert operator.get(reverse("admin:trial", args=[trial.pk])).status_code == 200


@pytest.mark.slow
@pytest.mark.whole
def test_nothing_that_is_tried_stands_in_any_list(
    operator: Client, admin: Client, world: World, proposal: Proposal, standin: StandIn
) -> None:
    start_trial(operator, world, text=f"Hello {SENTINEL}", proposal=proposal.pk)
    trial = answer_trial(world, standin, f"Yes {SENTINEL}")
    with acting_as(world.operator):
        session = Session.objects.get(conversation=trial)
    marks = (SENTINEL, trial.conversation_key, session.prefix_sha256[:12])
    lists = [*(list_of(model) for model in ADMINS_BY_MODEL), "/admin/", "/admin/figures/", "/admin/assistant/"]
    asked = [
        *lists,
        *(f"/api/v1/{name}" for name in ("conversations", "sessions", "escalations", "drafts", "extractions")),
    ]
    for row, client in enumerate((operator, admin)):
        for path in share_of(row, asked, rows=2):
            page = client.get(path, follow=True)
            assert page.status_code == 200, path
            found = [mark for mark in marks if mark in page.content.decode()]
            assert found == [], path
            searched = client.get(path, {"q": SENTINEL}, follow=True).content.decode()
            assert f"Yes {SENTINEL}" not in searched, path
    assert str(trial.pk) not in [row["id"] for row in operator.get("/api/v1/conversations").json()["results"]]


def test_without_an_agent_for_customers_the_page_says_so(operator: Client, world: World) -> None:
    make_event(world)
    assert "None. Nobody but you reads yours." in page_words(operator.get(reverse("admin:playground")))


@pytest.mark.slow
def test_the_pages_ask_as_often_with_much_as_with_little(
    operator: Client, world: World, proposal: Proposal, standin: StandIn
) -> None:
    def asked_for() -> list[int]:
        counts = []
        for path in (reverse("admin:playground"), reverse("admin:trial", args=[trial.pk])):
            with CaptureQueriesContext(connection) as queries:
                assert operator.get(path).status_code == 200
            counts.append(len(queries))
        return counts

    start_trial(operator, world, proposal=proposal.pk)
    trial = answer_trial(world, standin)
    asked_for()
    few = asked_for()
    for text in ("And now?", "And then?"):
        message_assistant(trial, text, world.operator)
        answer_trial(world, standin)
    for _ in range(3):
        message_assistant(make_trial(world), "Hello", world.operator)
    make_skill(world)
    with acting_as(world.operator):
        trial = Conversation.objects.get(pk=trial.pk)
    assert asked_for() == few
