"""Every governed field by every role, as REST and the console's forms take it."""

from typing import Any, cast

import pytest
from django.core.serializers.json import DjangoJSONEncoder
from django.db import transaction
from django.test import Client
from pytest_django import Settings

from apps.api.policy_conformance import body_classes
from apps.api.urls import router
from apps.console.policy_conformance import governed_pages
from apps.governance.actors import Role
from apps.governance.database.actor_transaction import acting_as
from apps.governance.governed_write import recorded_values
from apps.governance.models import Governed, Proposal
from apps.governance.policy.policy_table import POLICY, Act
from tests.governance.governed_fields import (
    CHANGING_ACTS,
    columns,
    governed_fields,
    is_state,
    other_value,
    records,
    reload_row,
)
from tests.support.drivers.console_client import page_of
from tests.support.factories.endpoints import make_endpoint
from tests.support.parameter_sampling import share_of, whole_or
from tests.support.worlds.lawful_acts import Scene, make_scene
from tests.support.worlds.world import make_skill

# Walks what other tests already cover, thousands of times: measuring that would only make it slower.
pytestmark = [pytest.mark.django_db, pytest.mark.unmeasured]

# What goes before a reviewer is brought up to date with the draft it is about.
ACCOMPANYING_ACTS = {"proposal.submit"}
# A field that is sent only beside another.
REQUIRED_VALUES = {"outcome": {"status": "resolved"}}
# What an act asks beside its fields.
REQUIRED_BODY_VALUES = {Act.ROLE_GRANT_WRITE: {"reason": "Settled at the review."}}


@pytest.fixture(autouse=True)
def no_collected_static_files(settings: Settings) -> None:
    settings.WHITENOISE_AUTOREFRESH = True


# Any: the router's stubs know no queryset.
REST: dict[str, tuple[str, Any]] = {
    view.queryset.model.noun: (prefix, view)
    for prefix, view, _ in cast("list[tuple[str, Any, str]]", router.registry)
    if issubclass(view.queryset.model, Governed) and "partial_update" in getattr(view, "acts", {})
}
PATCHABLE_ACTS = [act for act in CHANGING_ACTS if act.noun in REST and act in REST[act.noun][1].acts["partial_update"]]


def patch_fields(act: Act) -> set[str]:
    """The fields a PATCH for this act may carry."""
    known = (body for body in body_classes() if act in body.acts and "version" in body().fields)
    return {str(name) for body in known for name in body().fields}


# A PUT of a noun's first act is one of all of them: the view is the same, and so are the columns.
FIRST_ACTS = {act.noun: act for act in reversed(PATCHABLE_ACTS)}
PUT_ACTS = whole_or([act for act in PATCHABLE_ACTS if act in FIRST_ACTS.values()], whole=PATCHABLE_ACTS)
FIELD_REQUESTS = [("PATCH", act) for act in PATCHABLE_ACTS] + [("PUT", act) for act in PUT_ACTS]


@pytest.mark.whole
@pytest.mark.parametrize(("method", "act"), FIELD_REQUESTS, ids=lambda given: getattr(given, "value", given))
def test_rest_writes_a_field_for_the_roles_of_the_policy(method: str, act: Act) -> None:
    # R015, R017, R018, R019, R020
    scene = make_scene(act)
    prefix, view = REST[act.noun]
    named = named_values(scene)
    for place, role in enumerate((Role.OPERATOR, Role.ADMIN, Role.AGENT)):
        client = client_of(scene, role)
        for field in share_of(place, columns(CHANGING_ACTS[act]), rows=3):
            if is_state(field):
                continue
            row = reload_row(scene, scene.subject)
            stood, before = recorded_values(row), len(records(scene))
            acts = [each for each in view.acts["partial_update"] if field.name in POLICY[each].writes(adding=False)]
            open_acts = {each.value for each in acts if role in POLICY[each].allowed}
            value = named.get(field.name) or other_value(field, getattr(row, field.attname))
            sent = {field.name: value, **REQUIRED_VALUES.get(field.name, {}), **REQUIRED_BODY_VALUES.get(act, {})}
            if method == "PUT":
                sent = (
                    {name: stood[name] for name in governed_fields(act.noun) & set(stood) & patch_fields(act)}
                    | named
                    | sent
                )
            undo = transaction.savepoint()
            answer = client.generic(method, f"/api/v1/{prefix}/{row.pk}", json_of(sent), "application/json")
            made = records(scene)[before:]
            after = recorded_values(reload_row(scene, row))
            cell = (role.value, field.name, answer.status_code, answer.content[:300], made)
            made = [each for each in made if each not in ACCOMPANYING_ACTS - open_acts]
            if open_acts:
                assert answer.status_code in {200, 202}, cell
                assert len(made) == 1, cell
                assert set(made) <= open_acts, cell
                assert (after != stood) == (answer.status_code == 200), cell
            elif made:
                # What else a PUT carried was lawful; this field was stripped.
                assert after.get(field.attname) == stood.get(field.attname) or is_stamped(made, field.name), cell
            else:
                assert answer.status_code in {200, 400, 403}, cell
                assert after == stood, cell
            transaction.savepoint_rollback(undo)


def named_values(scene: Scene) -> dict[str, Any]:  # Any: what a body carries
    """What a body names where the row has a number: a schedule's skill, and endpoints that are there."""
    if scene.act is Act.AGENT_AMEND:
        return dict.fromkeys(("endpoint", "distil_endpoint_mid", "distil_endpoint_long"), make_endpoint(scene.world).pk)
    return {"skill": make_skill(scene.world, "approved").name} if scene.act.noun == "schedule" else {}


def client_of(scene: Scene, role: Role) -> Client:
    if role is Role.AGENT:
        return Client(headers={"Authorization": f"Bearer {scene.world.token}"})
    client = Client()
    client.force_login(scene.world.admin_user if role is Role.ADMIN else scene.world.operator_user)
    return client


def json_of(values: dict[str, Any]) -> bytes:
    return DjangoJSONEncoder().encode(values).encode()


# Lists are ticked on these pages, not typed; tests/surfaces/console has them.
CHECKBOX_ACTS = {Act.ROLE_GRANT_WRITE, Act.GRANT_WRITE, Act.LIMIT_WRITE}
FORMS = {
    amendment.act: page
    for page in governed_pages()
    for amendment in page.amends
    if amendment.act in CHANGING_ACTS and amendment.act not in CHECKBOX_ACTS
}


@pytest.mark.slow
@pytest.mark.whole
@pytest.mark.parametrize("act", FORMS, ids=lambda act: act.value)
def test_a_form_of_the_console_writes_a_field_for_the_roles_of_the_policy(act: Act) -> None:
    # R015, R017, R018
    scene = make_scene(act)
    shown = set(FORMS[act].fields or ())
    endpoints = dict.fromkeys(
        ("endpoint", "distil_endpoint_mid", "distil_endpoint_long"), make_endpoint(scene.world).pk
    )
    others = {**endpoints, "skill": make_skill(scene.world, "approved").pk}
    for place, role in enumerate((Role.OPERATOR, Role.ADMIN)):
        client = client_of(scene, role)
        for field in share_of(place, columns(CHANGING_ACTS[act]), rows=2):
            row = reload_row(scene, scene.subject)
            stood, before = recorded_values(row), len(records(scene))
            typed = {name: getattr(row, row._meta.get_field(name).attname) for name in shown} | {
                field.name: others.get(field.name) or other_value(field, getattr(row, field.attname))
            }
            form = {name: value for name, value in typed.items() if value is not None and value is not False}
            undo = transaction.savepoint()
            answer = client.post(page_of(row), {"read_at": row.version, **form})
            made = [each for each in records(scene)[before:] if each not in ACCOMPANYING_ACTS]
            after = recorded_values(reload_row(scene, row))
            cell = (role.value, field.name, answer.status_code, made)
            if role in POLICY[act].direct and field.name in POLICY[act].writes(adding=False):
                assert made == [act.value], cell
                assert after[field.attname] != stood[field.attname], cell
            elif role in POLICY[act].direct and made:
                # The act saved the rest, and signed for it; this field it did not take.
                assert after.get(field.attname) == stood.get(field.attname) or is_stamped(made, field.name), cell
            else:
                assert made == [], cell
                assert after == stood, cell
            transaction.savepoint_rollback(undo)


def is_stamped(made: list[str], name: str) -> bool:
    """Whether an act that was done writes this by itself."""
    return any(name in POLICY[Act(act)].stamps for act in made)


def test_a_service_user_gets_no_form_whatever_it_sends() -> None:
    # R015, R016
    scene = make_scene(Act.PERSONA_AMEND)
    stood = recorded_values(reload_row(scene, scene.subject))
    client = Client()
    client.force_login(scene.world.agent.service_user)
    answer = client.post(page_of(scene.subject), {"read_at": 1, "avoid": "Nothing."})
    assert answer.status_code in {302, 403}
    assert recorded_values(reload_row(scene, scene.subject)) == stood
    with acting_as(scene.world.operator):
        assert Proposal.objects.visible_to(scene.world.operator).count() == 0
