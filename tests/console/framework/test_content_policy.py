"""What pages let a browser load and run: their own files, by the names that this one answer gave, and nothing made of words."""

import re

import pytest
from django.contrib.staticfiles import finders
from django.test import Client
from django.urls import reverse

from apps.launcher.data_folders import PROJECT
from config.unfold_settings import UNFOLD
from tests.support.drivers.console_client import paths
from tests.support.parameter_sampling import share_of
from tests.support.worlds.furnished_tenant import make_console_rows
from tests.support.worlds.world import World

INLINE = re.compile(r"<style|<script(?![^>]* src=)|\s(?:style|on[a-z]+|hx-on[a-z:]*)=|javascript:", re.IGNORECASE)
MARKUP = re.compile(
    r"\.(?:inner|outer)HTML\s*=[^=]|insertAdjacentHTML|DOMParser|document\.write|\beval\(|new Function|\.srcdoc"
)


def _policy(client: Client, path: str) -> dict[str, list[str]]:
    header = client.get(path)["Content-Security-Policy"]
    return {words[0]: words[1:] for words in (part.split() for part in header.split(";"))}


def test_a_page_may_load_from_its_own_server_only_and_run_nothing_it_did_not_name(operator: Client) -> None:
    policy = _policy(operator, reverse("admin:index"))
    (nonce,) = policy.pop("script-src")
    assert re.fullmatch(r"'nonce-[\w-]{22}'", nonce)
    assert policy == {
        "default-src": ["'none'"],
        "style-src": ["'self'"],
        "font-src": ["'self'"],
        "img-src": ["'self'"],
        "connect-src": ["'self'"],
        "base-uri": ["'none'"],
        "form-action": ["'self'"],
        "frame-ancestors": ["'none'"],
        "require-trusted-types-for": ["'script'"],
        "trusted-types": ["'none'"],
    }


def test_an_answer_names_its_scripts_by_a_word_of_its_own(operator: Client) -> None:
    words = set()
    for _ in range(2):
        answer = operator.get(reverse("admin:index"))
        (nonce,) = re.findall(r"script-src 'nonce-([^']+)'", answer["Content-Security-Policy"])
        scripts = re.findall(r"<script[^>]*>", answer.content.decode())
        assert len(scripts) == 4
        assert all(f'nonce="{nonce}"' in each for each in scripts)
        words.add(nonce)
    assert len(words) == 2


def test_who_is_not_signed_in_gets_no_wider_policy(client: Client) -> None:
    assert _policy(client, reverse("admin:login"))["default-src"] == ["'none'"]
    assert _policy(client, "/admin/nowhere/")["default-src"] == ["'none'"]


@pytest.mark.slow
@pytest.mark.whole
def test_no_page_carries_a_script_or_a_style_of_its_own(world: World, admin: Client) -> None:
    make_console_rows(world)
    for name, path in share_of(0, tuple(paths(world).items()), rows=3):
        answer = admin.get(path, follow=True)
        assert (name, answer.status_code) == (name, 200)
        assert (name, INLINE.findall(re.sub(r"<pre.*?</pre>", "", answer.content.decode(), flags=re.DOTALL))) == (
            name,
            [],
        )


def test_no_script_of_ours_makes_markup_or_code_of_words() -> None:
    scripts = sorted((PROJECT / "static/console").glob("*.js"))
    assert len(scripts) == 4
    assert {each.name: MARKUP.findall(each.read_text()) for each in scripts} == {each.name: [] for each in scripts}


@pytest.mark.parametrize("address", [*UNFOLD["SCRIPTS"], *UNFOLD["STYLES"]])
def test_every_script_and_style_that_pages_load_is_a_file(address: str) -> None:
    assert finders.find(address.removeprefix("/static/")), address
