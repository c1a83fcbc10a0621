"""Which replies may be reported, and what has to be said of them."""

import pytest

from apps.desk.reports.rules import OTHER_REASON, ReportableReply, missing_explanation, reason_unreportable
from apps.learning.lessons.lesson_cases import LessonText, NoLesson, lesson_from_reported_reply

pytestmark = [pytest.mark.pure, pytest.mark.kernel]


def test_what_an_agent_said_to_its_customer_may_be_reported() -> None:
    assert reason_unreportable(ReportableReply(is_agents=True, is_off_the_record=False, is_talk=False)) == ""


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        (ReportableReply(is_agents=True, is_off_the_record=True, is_talk=False), "off the record"),
        (ReportableReply(is_agents=True, is_off_the_record=False, is_talk=True), "private"),
        (ReportableReply(is_agents=False, is_off_the_record=False, is_talk=False), "on its own page"),
    ],
)
def test_everything_else_is_refused_with_its_reason(reply: ReportableReply, message: str) -> None:
    # R178
    assert message in reason_unreportable(reply)


def test_another_reason_is_explained() -> None:
    assert "Explain" in missing_explanation(OTHER_REASON, " \n")
    assert missing_explanation(OTHER_REASON, "It is in the wrong language.") == ""
    assert missing_explanation("wrong_fact", "") == ""


@pytest.mark.parametrize(
    ("why", "instead", "taught"),
    [
        (
            "Too soon.",
            "Fourteen days.",
            LessonText("When?", "A fact is wrong. Too soon. The reply was: Two.", "Fourteen days."),
        ),
        ("", "Fourteen days.", LessonText("When?", "A fact is wrong: Two.", "Fourteen days.")),
        ("Too soon.", " ", LessonText("When?", "A fact is wrong: Two.", "Too soon.")),
        (" ", "", NoLesson("Nobody explained what was wrong with it.")),
    ],
)
def test_a_report_teaches_what_was_said_instead_or_why(why: str, instead: str, taught: LessonText | NoLesson) -> None:
    assert lesson_from_reported_reply("When?", "Two.", "A fact is wrong", why, instead) == taught
