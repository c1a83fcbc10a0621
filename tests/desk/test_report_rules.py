"""Which replies may be reported, and what has to be said of them."""

import pytest

from apps.desk.reports.rules import OTHER, Reply, unexplained, unreportable
from apps.learning.lessons.lesson_cases import Told, Untaught, of_reported_reply

pytestmark = [pytest.mark.pure, pytest.mark.kernel]


def test_what_an_agent_said_to_its_customer_may_be_reported() -> None:
    assert unreportable(Reply(is_agents=True, is_off_the_record=False, is_talk=False)) == ""


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (Reply(is_agents=True, is_off_the_record=True, is_talk=False), "off the record"),
        (Reply(is_agents=True, is_off_the_record=False, is_talk=True), "theirs alone"),
        (Reply(is_agents=False, is_off_the_record=False, is_talk=False), "judged on its own page"),
    ],
)
def test_everything_else_is_refused_with_its_reason(reply: Reply, said: str) -> None:
    # R178
    assert said in unreportable(reply)


def test_another_reason_is_explained() -> None:
    assert "in words" in unexplained(OTHER, " \n")
    assert unexplained(OTHER, "It is in the wrong language.") == ""
    assert unexplained("wrong_fact", "") == ""


@pytest.mark.parametrize(
    ("why", "instead", "taught"),
    [
        (
            "Too soon.",
            "Fourteen days.",
            Told("When?", "A fact is wrong. Too soon. The reply was: Two.", "Fourteen days."),
        ),
        ("", "Fourteen days.", Told("When?", "A fact is wrong: Two.", "Fourteen days.")),
        ("Too soon.", " ", Told("When?", "A fact is wrong: Two.", "Too soon.")),
        (" ", "", Untaught("Nobody said in words what was wrong with it.")),
    ],
)
def test_a_report_teaches_what_was_said_instead_or_why(why: str, instead: str, taught: Told | Untaught) -> None:
    assert of_reported_reply("When?", "Two.", "A fact is wrong", why, instead) == taught
