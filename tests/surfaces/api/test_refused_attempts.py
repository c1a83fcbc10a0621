"""What REST refuses before any act is asked stands in the tenant's books too, once."""

from apps.governance.acting import acting
from apps.governance.models import Refusal
from tests.factories import World, make_persona, make_skill
from tests.surfaces.api.asking import Asker, bearer

Kept = tuple[str, str, str, int | None]


def refusals(world: World) -> list[Kept]:
    with acting(world.operator):
        return list(Refusal.objects.order_by("id").values_list("act", "code", "subject_type", "subject_id"))


def test_a_body_of_which_nothing_is_permitted_is_one_refused_attempt(world: World, bot: Asker) -> None:
    # R017, Z-14
    persona = make_persona(world)
    assert bot.patch(f"personas/{persona.pk}", {"style": "Brief."}).code == "nothing_permitted"
    assert refusals(world) == [("", "nothing_permitted", "personas.persona", persona.pk)]


def test_an_act_the_door_refuses_is_one_refused_attempt(world: World, bot: Asker) -> None:
    skill = make_skill(world)
    body = {"to": "approved", "reviewed_sha256": skill.content_sha256}
    assert bot.post(f"skills/{skill.pk}/transition", body).code == "not_permitted"
    assert [(act, code) for act, code, *_ in refusals(world)] == [("skill.approve", "not_permitted")]


def test_a_move_that_does_not_exist_is_one_refused_attempt(world: World, operator: Asker) -> None:
    skill = make_skill(world, "deprecated")
    assert operator.patch(f"skills/{skill.pk}", {"status": "approved"}).code == "illegal_transition"
    assert refusals(world) == [("", "illegal_transition", "skills.skill", skill.pk)]


def test_a_write_to_another_tenants_row_stands_in_the_books_of_who_tried(
    world: World, other: World, operator: Asker
) -> None:
    # R006: the neighbour's row and a row that never was are refused and kept in the same words.
    foreign = make_skill(other)
    for pk in (foreign.pk, 10**9):
        assert operator.patch(f"skills/{pk}", {"body": "Mine."}).code == "not_found"
    assert refusals(world) == [("", "not_found", "skills.skill", pk) for pk in (foreign.pk, 10**9)]
    assert refusals(other) == []


def test_a_read_that_finds_nothing_and_an_honest_mistake_are_no_attempts(world: World, operator: Asker) -> None:
    skill = make_skill(world)
    assert operator.get("skills/1000000000").status == 404
    assert operator.patch(f"skills/{skill.pk}", {"body": 7}).status == 400
    assert operator.patch(f"skills/{skill.pk}", {"body": "New.", "version": 9}).status == 409
    assert operator.get("nowhere").status == 404
    assert bearer("pcp_unknown").delete(f"skills/{skill.pk}").status == 401
    assert refusals(world) == []


def test_what_is_for_people_alone_is_refused_to_an_agent_and_kept(world: World, bot: Asker) -> None:
    assert bot.get("extractions").code == "not_permitted"
    assert refusals(world) == [("", "not_permitted", "learning.extraction", None)]
