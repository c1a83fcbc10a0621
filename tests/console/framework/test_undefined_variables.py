"""A template of the product that names what it was not given fails its test."""

import pytest
from django.template import engines
from django.template.loader import get_template

from tests.support.undefined_variables import UndefinedVariableError

pytestmark = pytest.mark.unmeasured


def test_a_variable_that_nobody_gave_fails_in_a_template_of_the_product() -> None:
    with pytest.raises(UndefinedVariableError, match=r"refusal_page.html: `refusal` was not given"):
        get_template("console/framework/refusal_page.html").render({})


def test_elsewhere_it_is_an_empty_text_and_filters_apply() -> None:
    template = engines["django"].from_string("[{{ nothing }}{{ nothing|default:'none' }}]")
    assert template.render({}) == "[none]"
