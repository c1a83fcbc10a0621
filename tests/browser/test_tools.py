"""Pages of others' tools as people see them: a server with what it offers, a tool that changed, a call that waits."""

import pytest
from django.urls import reverse
from playwright.sync_api import Page

from apps.governance.acting import acting
from apps.tools.models import ToolApproval
from tests.browser.conftest import SCREENSHOTS, Console
from tests.browser.test_console import UNFOLD, flaws, sign_in
from tests.surfaces.console.browsing import page_of
from tests.tooling import make_changed_tool

pytestmark = pytest.mark.browser


@pytest.mark.parametrize(("scheme", "width"), [("light", 1440), ("dark", 1440), ("dark", 400)])
def test_the_pages_of_tools_are_accessible(page: Page, console: Console, scheme: str, width: int) -> None:
    world = console.full
    changed = make_changed_tool(world)
    with acting(world.operator):
        waiting = ToolApproval.objects.visible_to(world.operator).earliest("pk")
    paths = {"server": page_of(changed.tool.server), "tool": page_of(changed), "call": page_of(waiting)}
    paths |= {name: reverse(f"admin:tools_{name}_changelist") for name in ("toolserver", "agenttool", "toolapproval")}
    paths["allow"] = f"{reverse('admin:tools_agenttool_add')}?tool={changed.tool_id}"
    page.emulate_media(color_scheme=scheme, reduced_motion="reduce")  # type: ignore[arg-type]  # a literal, parametrised
    page.set_viewport_size({"width": width, "height": 900})
    sign_in(page, world, admin=True)
    found = []
    for name, path in paths.items():
        page.goto(path)
        page.evaluate(UNFOLD)
        page.screenshot(path=SCREENSHOTS / f"tools-{scheme}-{width}" / f"{name}.png", full_page=True)
        found += flaws(page, name)
    assert found == []
