"""Every governed write is one `governed` block. Each rule is shown to catch a bad file first."""

from fnmatch import fnmatch

import pytest

from tests.conventions import governed_writes
from tests.conventions.allowances import JOURNALS, WRITERS
from tests.conventions.source_files import Check, find_flaws, make_source, sources, top_functions

# Reads the product's sources and runs nothing of it.
pytestmark = pytest.mark.unmeasured

ACTIONS = "apps/skills/actions.py"
ACCEPTED_ACTION = "def approve(skill, *, actor):\n    with governed(Act.X, actor) as change:\n        skill.approve()\n"

RULES: dict[str, Check] = {
    "actor": governed_writes.acts_without_actor,
    "governed": governed_writes.acts_without_governed_write,
    "writes": governed_writes.ungoverned_writes,
}

REJECTED_SOURCES = [
    ("actor", ACTIONS, "def approve(skill, actor): ..."),
    ("actor", ACTIONS, "def approve(skill, *, reason): ..."),
    ("actor", ACTIONS, "def approve(skill, *, actor=None): ..."),
    ("governed", ACTIONS, "def approve(skill, *, actor):\n    skill.save()"),
    (
        "governed",
        ACTIONS,
        "def approve(skill, *, actor):\n    with governed(1):\n        pass\n    with governed(2):\n        pass",
    ),
    ("governed", ACTIONS, ACCEPTED_ACTION + "def approve_both(a, b, *, actor):\n    approve(a)\n    approve(b)"),
    ("governed", ACTIONS, "def approve(skill, *, actor):\n    governed(1)"),
    ("governed", "apps/memory/tier_actions.py", "def clear(tier, *, actor):\n    tier.delete()"),
    (
        "governed",
        ACTIONS,
        "def swap(a, b, *, actor):\n    governed_remove(Act.X, a, actor=actor)\n    governed_create(Act.Y, b, actor=actor)",
    ),
    (
        "governed",
        ACTIONS,
        ACCEPTED_ACTION + "def both(a, *, actor):\n    with acting_as(actor):\n        approve(a)\n    approve(a)",
    ),
    ("governed", ACTIONS, "def approve(skill, *, actor):\n    with acting_as(actor):\n        skill.save()"),
    ("writes", "apps/skills/distillation.py", "skill.save()"),
    ("writes", "apps/api/resources/skills/skills.py", "serializer.save(owner=actor)"),
    ("writes", "apps/runtime/turns/turn_machine.py", "await step.asave()"),
    ("writes", "apps/runtime/turns/turn_machine.py", "Skill.objects.create(name='x')"),
    ("writes", "apps/runtime/turns/turn_machine.py", "conversation.messages.create(text='x')"),
    ("writes", "apps/runtime/turns/turn_machine.py", "Skill.objects.bulk_create(rows)"),
    ("writes", "apps/runtime/turns/turn_machine.py", "Skill.objects.get_or_create(name='x')"),
    ("writes", "apps/runtime/turns/turn_machine.py", "Skill.objects.filter(id=1).update(name='x')"),
    ("writes", "apps/runtime/turns/turn_machine.py", "Skill.objects.filter(id=1).delete()"),
    ("writes", "apps/runtime/turns/turn_machine.py", "skill.delete()"),
]

ACCEPTED_SOURCES = [
    ("actor", ACTIONS, ACCEPTED_ACTION + "def _inner(skill): ..."),
    ("actor", "apps/desk/rules.py", "def vet(proposal): ..."),
    ("governed", ACTIONS, ACCEPTED_ACTION),
    ("governed", ACTIONS, "def draft(skill, *, actor):\n    return governed_create(Act.X, skill, actor=actor)"),
    (
        "governed",
        "apps/review/skill_actions.py",
        "def approve(skill, *, actor):\n    with decision_transaction(Act.X, skill, actor=actor):\n        decide(skill)",
    ),
    ("governed", "apps/console/framework/page_actions.py", "def buttons(page): ..."),
    (
        "governed",
        ACTIONS,
        ACCEPTED_ACTION + "def approve_named(name, *, actor):\n    return approve(find(name), actor=actor)",
    ),
    ("governed", ACTIONS, "def approve(skill, *, actor):\n    with governing.governed(1), other():\n        pass"),
    (
        "governed",
        ACTIONS,
        "from apps.governance.proposals.actions import settle\ndef approve(a, *, actor):\n    return settle(a)",
    ),
    (
        "governed",
        ACTIONS,
        ACCEPTED_ACTION + "def both(a, *, actor):\n    with acting_as(actor):\n        approve(a)\n        approve(a)",
    ),
    (
        "governed",
        ACTIONS,
        "def approve(a, *, actor):\n    _inner(a)\ndef _inner(a):\n    with governed(a):\n        _inner(a)",
    ),
    ("governed", "apps/desk/rules.py", "def vet(proposal): ..."),
    ("writes", ACTIONS, "skill.save()"),
    ("writes", "apps/llm/anthropic/sync_client.py", "client.messages.create(model='x')"),
    ("writes", "apps/runtime/turns/turn_machine.py", "digest.update(text)\ncontext.update({'a': 1})"),
    ("writes", "apps/runtime/turns/turn_machine.py", "cache.delete(key)"),
    ("writes", "apps/skills/migrations/0002_seed.py", "Skill.objects.create(name='x')"),
]


@pytest.mark.parametrize(("rule", "path", "text"), REJECTED_SOURCES)
def test_rule_catches(rule: str, path: str, text: str) -> None:
    assert list(RULES[rule](make_source(path, text)))


@pytest.mark.parametrize(("rule", "path", "text"), ACCEPTED_SOURCES)
def test_rule_lets_pass(rule: str, path: str, text: str) -> None:
    assert list(RULES[rule](make_source(path, text))) == []


@pytest.mark.slow
@pytest.mark.parametrize("rule", list(RULES))
def test_product_uses_governed_writes(rule: str) -> None:
    assert find_flaws(RULES[rule]) == []


@pytest.mark.slow
def test_no_allowed_writer_has_stopped_writing() -> None:
    for pattern, reason in WRITERS.items():
        matched = [source for source in sources("apps") if fnmatch(str(source.path), pattern)]
        writing = [
            source
            for source in matched
            if list(governed_writes.row_writes(source)) or "migrations" in source.path.parts
        ]
        assert writing or not matched, f"{pattern} ({reason}) writes nothing; remove it from WRITERS."


@pytest.mark.slow
def test_every_journal_names_a_function() -> None:
    places = {
        f"{source.path}::{function.name}" for source in sources("apps") for function in top_functions(source.tree)
    }
    assert set(JOURNALS) <= places
