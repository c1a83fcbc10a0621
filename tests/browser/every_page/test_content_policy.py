"""What a real browser refuses on the console's pages, and the frame of a page without the library that asked for more."""

import re

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import BrowserConsole
from tests.browser.pages.test_console import sign_in

pytestmark = pytest.mark.browser

# Each tries what an injected word could; what the browser does instead is told by its own event, or by an error.
ATTEMPTS_SCRIPT = """async () => {
  const told = [];
  document.addEventListener("securitypolicyviolation", (event) => told.push(event.effectiveDirective));
  const refused = (name, act) => { try { act(); } catch { told.push(name); } };
  const add = (tag, values) => document.body.append(Object.assign(document.createElement(tag), values));
  // Later, as a page's own script would: what the test itself sends may evaluate.
  await new Promise((resolve) => setTimeout(() => {
    refused("eval", () => window.eval("window.evaluated = true"));
    refused("Function", () => new Function("window.evaluated = true")());
    resolve();
  }));
  refused("markup", () => { document.body.innerHTML = "<b>gone</b>"; });
  refused("policy", () => window.trustedTypes.createPolicy("mine", { createHTML: (words) => words }));
  refused("script address", () => { document.createElement("script").src = "/static/unfold/js/htmx/htmx.js"; });
  refused("object address", () => { document.createElement("object").data = "/admin/"; });
  document.body.firstElementChild.setAttribute("style", "display: none");
  add("style", { textContent: "body { display: none }" });
  add("img", { src: "https://pictures.example/a.png" });
  add("img", { src: "data:image/gif;base64,R0lGODlhAQABAAAAACw=" });
  add("iframe", { src: "/admin/" });
  add("base", { href: "https://elsewhere.example/" });
  await fetch("https://elsewhere.example/").catch(() => told.push("fetch"));
  const form = Object.assign(document.createElement("form"), { action: "https://elsewhere.example/", method: "post" });
  document.body.append(form);
  form.submit();
  await new Promise((resolve) => setTimeout(resolve, 300));
  return { told: [...new Set(told)].sort(), evaluated: window.evaluated ?? false, title: document.title };
}"""
REFUSED_ATTEMPTS = {
    *("eval", "Function", "markup", "policy", "script address", "object address", "fetch"),
    *(
        "require-trusted-types-for",
        "trusted-types",
        "style-src-attr",
        "style-src-elem",
        "img-src",
        "frame-src",
    ),
    *("base-uri", "connect-src", "form-action"),
}


def test_browser_refuses_what_no_page_asked_for(chromium: Browser, console: BrowserConsole) -> None:
    context = chromium.new_context(base_url=console.url)
    page = context.new_page()
    sign_in(page, console.full)
    seen = page.evaluate(ATTEMPTS_SCRIPT)
    context.close()
    assert set(seen["told"]) >= REFUSED_ATTEMPTS, REFUSED_ATTEMPTS - set(seen["told"])
    assert not seen["evaluated"]


def test_colours_are_chosen_in_the_menu_and_kept(page: Page, console: BrowserConsole) -> None:
    page.emulate_media(color_scheme="light")
    sign_in(page, console.full)
    root = page.locator("html")
    expect(root).not_to_have_class(re.compile("dark"))
    page.locator(".pc-user summary").click()
    page.get_by_role("button", name="Dark").click()
    expect(root).to_have_class(re.compile("dark"))
    expect(page.get_by_role("button", name="Dark")).to_have_attribute("aria-pressed", "true")
    page.reload()
    expect(root).to_have_class(re.compile("dark"))
    page.locator(".pc-user summary").click()
    page.get_by_role("button", name="System").click()
    expect(root).not_to_have_class(re.compile("dark"))
    page.emulate_media(color_scheme="dark")
    expect(root).to_have_class(re.compile("dark"))


def test_menu_is_shut_and_opened_by_its_button_and_narrow_ones_by_escape(page: Page, console: BrowserConsole) -> None:
    sign_in(page, console.full)
    button, menu = page.get_by_role("button", name="Show or hide the menu"), page.locator("#nav-sidebar")
    expect(button).to_have_attribute("aria-expanded", "true")
    button.click()
    expect(menu).to_be_hidden()
    page.reload()
    expect(menu).to_be_hidden()
    button.click()
    expect(menu).to_be_visible()
    page.set_viewport_size({"width": 400, "height": 800})
    expect(menu).to_be_hidden()
    expect(button).to_have_attribute("aria-expanded", "false")
    button.press("Enter")
    expect(menu).to_be_visible()
    page.keyboard.press("Escape")
    expect(menu).to_be_hidden()
    expect(button).to_be_focused()


def test_narrow_window_without_javascript_has_its_menu_on_the_page(chromium: Browser, console: BrowserConsole) -> None:
    context = chromium.new_context(
        base_url=console.url, java_script_enabled=False, viewport={"width": 400, "height": 800}
    )
    page = context.new_page()
    sign_in(page, console.full)
    expect(page.get_by_role("button", name="Show or hide the menu")).to_be_hidden()
    page.get_by_role("link", name=re.compile("^Conversations")).first.click()
    expect(page.get_by_role("heading", name="Conversations")).to_be_visible()
    context.close()


def test_page_that_reads_the_schema_to_people_runs_under_a_policy_of_its_own(
    page: Page, console: BrowserConsole
) -> None:
    sign_in(page, console.full)
    answer = page.goto("/api/v1/docs/")
    assert answer is not None
    assert "script-src 'self';" in answer.headers["content-security-policy"]
    operation = page.locator(".opblock").first
    expect(operation).to_be_visible()
    operation.locator(".opblock-summary-control").click()
    expect(operation.get_by_role("button", name="Try it out")).to_be_visible()
