"""An operator's steps in the console, performed as by a browser: pages, forms, cookies."""

import re
import subprocess
import sys
from collections.abc import Callable
from typing import Final

from apps.demo.http_client import HtmlForm, HttpVisitor, PageResponse
from apps.demo.story_steps import StepFailed, expect
from apps.launcher.data_folders import PROJECT

HOME: Final = "/admin/"
LOGIN: Final = "/admin/login/"
CSRF: Final = "csrfmiddlewaretoken"
START_AGAIN: Final = "and start the demo again; or begin anew with `make clean`. The page:"
NO_APPROVAL: Final = (
    "has no approval button on the review page. Their permissions were limited: see Limits of members and Grants on agents"
    f" in the console, restore them, {START_AGAIN}"
)
SIGN_IN_FAILED: Final = (
    f"could not sign in. If their membership was deactivated, reactivate it under Members, {START_AGAIN}"
)


def log_in(browser: HttpVisitor, username: str, password: str) -> str:
    """Sign in with the form; return a line that names the user."""
    page = browser.get(f"{LOGIN}?next={HOME}")
    form = _find_form(page, lambda form: "password" in form.asked, "The login page has no login form.")
    browser.submit(page, form, username=username, password=password)
    return f"{_check_signed_in(browser, username)}, by password"


def follow_link(browser: HttpVisitor, username: str) -> str:
    """Sign in with a one-time link; return a line that names the user."""
    command = [sys.executable, "manage.py", "login_link", username]
    printed = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=False)
    links = re.findall(r"https?://\S+", printed.stdout)
    expect(printed.returncode == 0 and bool(links), f"manage.py login_link {username}: {printed.stderr.strip()[-400:]}")
    page = browser.get(links[-1])
    form = _find_form(page, lambda form: CSRF in form.fields, "The one-time link leads to no button.")
    browser.submit(page, form)
    return f"{_check_signed_in(browser, username)}, by a one-time link"


def approve_draft(browser: HttpVisitor, skill_id: int, who: str) -> None:
    """Open a draft's review page, and approve exactly the version shown."""
    page = browser.get(f"{HOME}skills/skill/{skill_id}/change/")
    form = _find_form(page, lambda form: form.action.endswith("/decide/approve/"), f"{who} {NO_APPROVAL}")
    answer = browser.submit(page, form)
    expect(answer.status == 200, f"The approval was refused: {answer.refusal}")


def _check_signed_in(browser: HttpVisitor, username: str) -> str:
    home = browser.get(HOME)
    expect(home.status == 200 and LOGIN not in home.url, f"{username} {SIGN_IN_FAILED} {home.refusal} at {home.url}")
    return username


def _find_form(page: PageResponse, is_it: Callable[[HtmlForm], bool], otherwise: str) -> HtmlForm:
    for form in page.forms:
        if is_it(form):
            return form
    raise StepFailed(f"{otherwise} {page.refusal}")
