"""The content hash as SQL is the content hash of Python, whatever the text."""

import pytest

from apps.governance.database.actor_transaction import acting_as
from apps.governance.database.content_hash import ContentSha256
from apps.governance.stored_text import content_sha256
from apps.personas.models import SECTIONS, Persona
from tests.support.worlds.world import make_persona, make_world

pytestmark = [pytest.mark.kernel, pytest.mark.django_db]


def test_the_hash_in_sql_is_the_hash_that_a_proposal_is_bound_to() -> None:
    world = make_world()
    texts = {"identity": "Größe 漢字 🎉", "style": "a\r\nb\tc: 3:abc ", "avoid": "", "goals": "50 % \\ ' \" $1"}
    make_persona(world, **texts)
    with acting_as(world.operator):
        row = Persona.objects.annotate(whole=ContentSha256(*SECTIONS), one=ContentSha256("style")).get()
    assert row.whole == row.sha256
    assert row.one == content_sha256(texts["style"])
