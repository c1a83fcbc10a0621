"""The colours of badges: a tone is a class of the style sheet."""

import re

import pytest

from apps.console.framework.badges import GROUNDING_TONES, SOURCE_BADGES, TONES
from apps.launcher.data_folders import PROJECT

pytestmark = [pytest.mark.pure, pytest.mark.unmeasured]


def test_every_tone_is_a_class_of_the_style_sheet() -> None:
    defined = set(re.findall(r"\.pc-([a-z-]+)", (PROJECT / "static/console/console.css").read_text("utf-8")))
    tones = {*TONES.values(), *GROUNDING_TONES.values(), *(tone for tone, _ in SOURCE_BADGES.values())}
    # A plain badge has the look of all.
    assert tones - {"plain"} <= defined
    assert {"waiting", "good", "bad"} <= tones
