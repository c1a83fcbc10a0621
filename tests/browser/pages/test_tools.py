"""Pages of others' tools as people see them: a server with what it offers, a tool that changed, a call that waits."""

import pytest
from django.urls import reverse
from playwright.sync_api import Page

from apps.governance.database.actor_transaction import acting_as
from apps.tools.models import ToolApproval
from tests.browser.conftest import SCREENSHOTS, BrowserConsole
from tests.browser.pages.test_console import sign_in
from tests.support.drivers.accessibility import UNFOLD, flaws_in_widths
from tests.support.drivers.console_client import page_of
from tests.support.factories.external_tools import make_changed_tool

pytestmark = pytest.mark.browser


def test_the_pages_of_tools_are_accessible(page: Page, console: BrowserConsole) -> None:
    world = console.full
    changed = make_changed_tool(world)
    with acting_as(world.operator):
        waiting = ToolApproval.objects.visible_to(world.operator).earliest("pk")
    paths = {"server": page_of(changed.tool.server), "tool": page_of(changed), "call": page_of(waiting)}
    paths |= {name: reverse(f"admin:tools_{name}_changelist") for name in ("toolserver", "agenttool", "toolapproval")}
    paths["allow"] = f"{reverse('admin:tools_agenttool_add')}?tool={changed.tool_id}"
    sign_in(page, world, admin=True)
    found = []
    for name, path in paths.items():
        page.goto(path)
        page.evaluate(UNFOLD)
        found += flaws_in_widths(page, name, SCREENSHOTS / "tools" / name, [1440, 400])
    assert found == []
