"""The console in a real browser: a decision by mouse, every page for every eye, and without JavaScript."""

import re
from typing import Literal

import pytest
from django.conf import settings
from playwright.sync_api import Browser, Page, expect

from apps.governance.database.actor_transaction import acting_as
from apps.launcher.supervisor import HOST
from apps.skills.actions import amend_skill
from apps.skills.models import Skill
from tests.browser.conftest import SCREENSHOTS, BrowserConsole
from tests.support.drivers.accessibility import UNFOLD, accessibility_flaws, overflow_flaws, take_picture
from tests.support.drivers.console_client import page_of, paths, signed_in
from tests.support.parameter_sampling import share_of
from tests.support.worlds.world import PASSWORD, World, make_skill

pytestmark = pytest.mark.browser


def sign_in(page: Page, world: World, *, admin: bool = False) -> None:
    """Open home with a session that is there already; `sign_in_by_form` takes the way of a person, which costs seconds."""
    user = world.admin_user if admin else world.operator_user
    cookie = signed_in(user).cookies[settings.SESSION_COOKIE_NAME]
    page.context.add_cookies([{"name": cookie.key, "value": cookie.value, "domain": HOST, "path": "/"}])
    page.goto("/")
    expect(page.get_by_role("heading", name="Home")).to_be_visible()


def sign_in_by_form(page: Page, world: World, *, admin: bool = False) -> None:
    """Type name and password where home asks for them."""
    page.goto("/")
    user = world.admin_user if admin else world.operator_user
    page.get_by_label("Username").fill(user.username)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Log in").click()
    expect(page.get_by_role("heading", name="Home")).to_be_visible()


def test_operator_signs_in_and_approves_a_draft(page: Page, console: BrowserConsole) -> None:
    draft = make_skill(console.full, title="Send a fresh invoice")
    sign_in_by_form(page, console.full)
    page.get_by_role("link", name=re.compile("^Skill drafts")).first.click()
    page.get_by_role("link", name="send-a-fresh-invoice").click()
    expect(page.get_by_text("The next session of the agent lists the skill; sessions already open")).to_be_visible()
    page.get_by_role("button", name="Approve", exact=True).click()
    expect(page.get_by_text("Applied. You can undo it for a minute.")).to_be_visible()
    with acting_as(console.full.operator):
        assert Skill.objects.get(pk=draft.pk).status == Skill.Status.APPROVED


# Of a full tenant every page is looked at in a narrow window too: none is wider, and no table has to be pushed aside. Each page has
# one of the two schemes by turns, and both where everything runs.
@pytest.mark.slow
@pytest.mark.whole
@pytest.mark.parametrize(
    ("scheme", "filled", "share", "shares"), [("light", "full", 0, 2), ("dark", "full", 1, 2), ("dark", "empty", 0, 1)]
)
def test_every_page_is_accessible_and_no_wider_than_a_narrow_window(
    page: Page, console: BrowserConsole, scheme: Literal["light", "dark"], filled: str, share: int, shares: int
) -> None:
    world = getattr(console, filled)
    page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
    page.goto("/admin/login/")
    found = accessibility_flaws(page, "login")
    sign_in(page, world, admin=True)
    for name, path in share_of(share, tuple(paths(world).items()), rows=shares):
        page.goto(path)
        page.evaluate(UNFOLD)
        take_picture(page, SCREENSHOTS / f"{filled}-{scheme}" / f"{name}.png")
        found += accessibility_flaws(page, name)
        if filled == "full":
            found += overflow_flaws(page, name, SCREENSHOTS / f"narrow-{scheme}" / f"{name}.png")
    assert found == []


def test_refusal_and_secret_are_accessible(page: Page, console: BrowserConsole) -> None:
    draft = make_skill(console.full, title="Moving target")
    sign_in(page, console.full, admin=True)
    page.goto(page_of(draft))
    amend_skill(draft, actor=console.full.bot, values={"body": "Changed meanwhile."})
    with page.expect_response(lambda response: response.status == 409):
        page.get_by_role("button", name="Approve").click()
    expect(page.get_by_text("changed since you read it")).to_be_visible()
    expect(page.get_by_text("Changed meanwhile.").first).to_be_visible()
    found = accessibility_flaws(page, "refused")
    take_picture(page, SCREENSHOTS / "full-light" / "refused.png")
    page.goto(page_of(console.full.agent))
    page.locator("summary", has_text="Issue a token").click()
    page.get_by_label("What it is for").fill("web shop")
    page.get_by_role("button", name="Issue a token").click()
    expect(page.get_by_label("Bearer token")).to_have_value(re.compile("^pcp_"))
    found += accessibility_flaws(page, "token issued")
    take_picture(page, SCREENSHOTS / "full-light" / "token-issued.png")
    assert found == []


def test_narrow_window_reaches_the_menu_by_keyboard(page: Page, console: BrowserConsole) -> None:
    page.set_viewport_size({"width": 420, "height": 800})
    sign_in(page, console.full)
    take_picture(page, SCREENSHOTS / "narrow" / "home.png")
    menu = page.get_by_role("button", name="Show or hide the menu")
    menu.focus()
    page.keyboard.press("Enter")
    page.get_by_role("link", name=re.compile("^Other proposals")).first.click()
    expect(page.get_by_role("heading", name="Proposals")).to_be_visible()
    take_picture(page, SCREENSHOTS / "narrow" / "proposals.png")


def test_draft_is_rejected_without_javascript(chromium: Browser, console: BrowserConsole) -> None:
    draft = make_skill(console.full, title="Never mind")
    context = chromium.new_context(base_url=console.url, java_script_enabled=False)
    page = context.new_page()
    sign_in(page, console.full)
    page.goto(page_of(draft))
    take_picture(page, SCREENSHOTS / "plain" / "skill.png")
    rejection = page.locator("details", has=page.locator("summary", has_text="Reject"))
    rejection.locator("summary").click()
    rejection.get_by_label("Not useful").check()
    rejection.get_by_label("Why (optional)").fill("Nobody needs it.")
    rejection.get_by_role("button", name="Reject").click()
    expect(page.get_by_text("Rejected. The draft reaches no customer")).to_be_visible()
    context.close()
