"""A second factor set up and asked for, in a real browser."""

import pytest
from django.urls import reverse
from playwright.sync_api import Page, expect

from tests.browser.conftest import SCREENSHOTS, BrowserConsole
from tests.browser.pages.test_console import sign_in
from tests.support.drivers.accessibility import accessibility_flaws, take_picture
from tests.support.drivers.authenticator_device import Device
from tests.support.worlds.world import PASSWORD, make_world

pytestmark = pytest.mark.browser


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 400)])
def test_a_code_is_set_up_and_asked_for(page: Page, console: BrowserConsole, scheme: str, width: int) -> None:
    del console
    world = make_world(f"factor-{scheme}")
    page.emulate_media(color_scheme="dark" if scheme == "dark" else "light", reduced_motion="reduce")
    page.set_viewport_size({"width": width, "height": 900})
    sign_in(page, world)
    page.goto(reverse("admin:second_factor"))
    folder = SCREENSHOTS / f"second-factor-{scheme}-{width}"
    take_picture(page, folder / "set-up.png")
    assert accessibility_flaws(page, "set up") == []
    phone = Device("".join(page.locator(".pc-shared-key").inner_text().split()), [])
    page.get_by_label("Your password").fill(PASSWORD)
    page.get_by_label("Code").fill(phone.code())
    page.get_by_role("button", name="Set up").click()
    expect(page.get_by_text("They are not shown again.")).to_be_visible()
    take_picture(page, folder / "recovery-codes.png")
    assert accessibility_flaws(page, "recovery codes") == []
    recovery = page.locator(".pc-codes code").first.inner_text()
    page.get_by_role("link", name="I have kept them").click()
    page.context.clear_cookies()
    page.goto(reverse("admin:login"))
    page.get_by_label("Username").fill(world.operator_user.username)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Log in").click()
    expect(page.get_by_role("heading", name="Enter a code")).to_be_visible()
    take_picture(page, folder / "code.png")
    assert accessibility_flaws(page, "code") == []
    page.get_by_label("Code").fill(recovery)
    page.keyboard.press("Enter")
    expect(page.get_by_text("That recovery code is used up; 9 are left.")).to_be_visible()
    page.goto(reverse("admin:browser_sessions"))
    take_picture(page, folder / "signed-in.png")
    assert accessibility_flaws(page, "signed in") == []
    page.get_by_role("button", name="Sign out everywhere else").click()
    expect(page.get_by_text("Other browsers signed out: 1.")).to_be_visible()
    page.goto(reverse("admin:second_factor"))
    take_picture(page, folder / "kept.png")
    assert accessibility_flaws(page, "kept") == []
