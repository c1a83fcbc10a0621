"""Every act by every role on every surface, as the policy says and no other way."""

import pytest
from pytest_django import Settings

from apps.governance.actors import Role
from apps.governance.database.actor_transaction import acting_as
from apps.governance.governed_write import recorded_values
from apps.governance.models import ChangeRecord, Governed, Proposal, Refusal
from apps.governance.policy.policy_table import POLICY, Act
from tests.governance.surfaces.base import ActionSurface, Surface
from tests.governance.surfaces.bulk import BulkSurface
from tests.governance.surfaces.commands import CommandSurface
from tests.governance.surfaces.console import ConsoleSurface
from tests.governance.surfaces.external_agent import ExternalAgentSurface
from tests.governance.surfaces.mcp import McpSurface
from tests.governance.surfaces.rest import RestSurface
from tests.governance.surfaces.tasks import TaskSurface
from tests.support.drivers.mcp_client import McpTestServer
from tests.support.parameter_sampling import covering_cells
from tests.support.worlds.lawful_acts import Scene, make_scene

# Walks what other tests already cover, thousands of times: measuring that would only make it slower.
pytestmark = [pytest.mark.django_db, pytest.mark.unmeasured, pytest.mark.whole]

SURFACES: tuple[Surface, ...] = (
    ActionSurface(),
    RestSurface(),
    BulkSurface(),
    McpSurface(),
    ExternalAgentSurface(),
    ConsoleSurface(),
    CommandSurface(),
    TaskSurface(),
)
# Recorded by a journal row of their own instead, or nothing is written.
JOURNALS = {
    Act.MESSAGE_RECEIVE,
    Act.MESSAGE_SEND,
    Act.SKILL_FETCH,
    Act.ENDPOINT_TEST,
    Act.SCHEDULE_RUN,
    Act.TIER_RUN,
    Act.CONTRADICTION_SCAN,
    Act.TOOL_SERVER_REFRESH,
    Act.WEBHOOK_REPLAY,
    Act.CONVERSATION_DELEGATE,
    Act.SESSION_OPEN,
    Act.TURN_REPORT,
    Act.TURN_RUN,
}
# A tenant that was not made has no books that could keep the attempt.
ACTS_WITHOUT_TENANT = {Act.TENANT_CREATE}
REFUSALS = {"not_permitted", "nothing_permitted"}

OFFERED_CELLS = [
    (surface, act, role)
    for surface in SURFACES
    for act in Act
    for role in surface.roles
    if act not in surface.not_offered and (act, role) not in surface.not_for
]


Cell = tuple[Surface, Act, Role]


def act_key(cell: Cell) -> tuple[Act, bool]:
    """One who may and one who may not, each on some surface: at the mcp_server test_door tries every role."""
    _, act, role = cell
    return act, role in POLICY[act].allowed


def surface_key(cell: Cell) -> tuple[str, Role, bool]:
    """On every surface each of its roles, with what it may and with what it may not."""
    surface, act, role = cell
    return surface.name, role, role in POLICY[act].allowed


CELLS = [
    pytest.param(surface, act, role, id=f"{surface.name}-{act.value}-{role.value}")
    for surface, act, role in covering_cells(OFFERED_CELLS, act_key, surface_key)
]


@pytest.fixture(autouse=True)
def no_collected_static_files(settings: Settings) -> None:
    settings.WHITENOISE_AUTOREFRESH = True


@pytest.fixture(autouse=True)
def shared_mcp_server(mcp_server: McpTestServer) -> None:
    McpSurface.mcp_server = mcp_server


def change_records(scene: Scene) -> set[tuple[int, str]]:
    with acting_as(scene.reader):
        return set(ChangeRecord.objects.values_list("id", "act"))


def count_refusals(scene: Scene) -> int:
    with acting_as(scene.reader):
        return Refusal.objects.count()


def subject_values(scene: Scene) -> object:
    """What the act's subject is in the database now, if it is a governed row."""
    if not isinstance(scene.subject, Governed):
        return None
    with acting_as(scene.reader):
        row = type(scene.subject)._default_manager.filter(pk=scene.subject.pk).first()
        return recorded_values(row) if row else None


def count_open_proposals(scene: Scene) -> int:
    with acting_as(scene.reader):
        return Proposal.objects.visible_to(scene.reader).open().count()


@pytest.mark.parametrize(("surface", "act", "role"), CELLS)
def test_an_act_is_open_to_the_roles_of_the_policy_and_to_no_other(surface: Surface, act: Act, role: Role) -> None:
    # R006, R015, R017, R018, R019, R020, R023, R024, R094, R107
    scene = make_scene(act, role)
    before, stood, waited, refused = (
        change_records(scene),
        subject_values(scene),
        count_open_proposals(scene),
        count_refusals(scene),
    )
    refusal = surface.perform(scene, role)
    made = [name for _, name in change_records(scene) - before]
    if role in POLICY[act].allowed:
        assert refusal == ""
        assert made.count(act.value) == (0 if act in JOURNALS else 1)
        assert count_refusals(scene) == refused
    else:
        assert refusal in REFUSALS
        assert made == []
        assert count_refusals(scene) == refused + (act not in ACTS_WITHOUT_TENANT)
    if role not in POLICY[act].direct:
        assert subject_values(scene) == stood
        assert count_open_proposals(scene) - waited == (role in POLICY[act].proposes)


@pytest.mark.parametrize("surface", SURFACES, ids=lambda surface: surface.name)
def test_every_act_is_offered_by_a_surface_or_left_out_for_a_reason(surface: Surface) -> None:
    offered = {act for offering, act, _ in OFFERED_CELLS if offering is surface}
    assert offered | set(surface.not_offered) == set(Act)
    assert not offered & set(surface.not_offered)
    assert all(reason for reason in (*surface.not_offered.values(), *surface.not_for.values()))
