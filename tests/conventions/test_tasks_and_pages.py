"""Tasks make one call, console pages declare, acts are named. Each rule is shown to catch a bad file first."""

import pytest

from tests.conventions import tasks_and_pages
from tests.conventions.source_files import Check, find_flaws, make_source

# Reads the product's sources and runs nothing of it.
pytestmark = pytest.mark.unmeasured

TASKS = "apps/runtime/tasks.py"
PAGE = "apps/console/skills/skills.py"
ACTS = "apps/governance/policy/acts.py"
TASK = "@shared_task\ndef wake(conversation_id: int) -> None:\n"

RULES: dict[str, Check] = {
    "one call": tasks_and_pages.oversized_tasks,
    "ids": tasks_and_pages.tasks_with_row_arguments,
    "tasks.py": tasks_and_pages.tasks_outside_tasks_py,
    "pages": tasks_and_pages.console_classes_with_methods,
    "acts": tasks_and_pages.misnamed_acts,
}

REJECTED_SOURCES = [
    ("one call", TASKS, TASK + "    take_turn(conversation_id)\n    sweep()"),
    ("one call", TASKS, TASK + "    pass"),
    ("one call", TASKS, TASK + "    if conversation_id:\n        take_turn(1)\n    else:\n        sweep()"),
    ("one call", TASKS, TASK + "    take_turn(\n" + "        1,\n" * 9 + "    )"),
    ("ids", TASKS, "@shared_task\ndef wake(conversation: Conversation) -> None:\n    take_turn(conversation)"),
    ("ids", TASKS, "@shared_task(bind=True)\ndef wake(self, conversation_id) -> None:\n    take_turn(conversation_id)"),
    ("ids", TASKS, "@app.task\ndef wake(**values: int) -> None:\n    take_turn(values)"),
    ("tasks.py", "apps/runtime/turns/turn_machine.py", TASK + "    take_turn(conversation_id)"),
    ("pages", PAGE, "class SkillAdmin(GovernedAdmin):\n    def save_model(self): ..."),
    ("pages", PAGE, "class SkillAdmin(admin.ModelAdmin[Skill]):\n    def get_urls(self): ..."),
    ("acts", ACTS, "class Act(StrEnum):\n    SKILL_APPROVE = 'approve_skill'"),
    ("acts", ACTS, "class Act(StrEnum):\n    APPROVE_SKILL = 'skill.approve'"),
    ("acts", ACTS, "class Act(StrEnum):\n    SKILL_APPROVE = 'skill.approve'\n    SKILL_APPROVE = 'skill.approve'"),
]

ACCEPTED_SOURCES = [
    ("one call", TASKS, TASK + '    """Wake one conversation."""\n    take_turn(conversation_id)'),
    ("one call", TASKS, TASK + "    for due in sweep():\n        wake.delay(due)"),
    ("ids", TASKS, "@shared_task(bind=True)\ndef wake(self, key: str, until: int | None) -> None:\n    take_turn(key)"),
    ("tasks.py", TASKS, TASK + "    take_turn(conversation_id)"),
    (
        "pages",
        PAGE,
        "class SkillAdmin(GovernedAdmin):\n    @admin.display(description='x')\n    def body(self, row): ...",
    ),
    ("pages", PAGE, "class GovernedAdmin(ModelAdmin):\n    def has_add_permission(self): ..."),
    (
        "pages",
        "apps/api/resources/skills/skills.py",
        "class SkillAdmin(ModelAdmin):\n    def has_add_permission(self): ...",
    ),
    ("acts", ACTS, "class Act(StrEnum):\n    SKILL_APPROVE = 'skill.approve'\n    DRAFT_SEND = 'draft.send'"),
]


@pytest.mark.parametrize(("rule", "path", "text"), REJECTED_SOURCES)
def test_rule_catches(rule: str, path: str, text: str) -> None:
    assert list(RULES[rule](make_source(path, text)))


@pytest.mark.parametrize(("rule", "path", "text"), ACCEPTED_SOURCES)
def test_rule_lets_pass(rule: str, path: str, text: str) -> None:
    assert list(RULES[rule](make_source(path, text))) == []


@pytest.mark.slow
@pytest.mark.parametrize("rule", list(RULES))
def test_product_only_calls_from_its_surfaces(rule: str) -> None:
    assert find_flaws(RULES[rule]) == []
