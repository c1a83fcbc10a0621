"""How long an endpoint asks us to wait, in each of the ways it can say so."""

import pytest

from apps.llm.anthropic.error_mapping import LONGEST_WAIT_SECONDS, requested_wait_seconds

pytestmark = pytest.mark.pure

NOW = 1_700_000_000.0
NOW_HEADER = "Tue, 14 Nov 2023 22:13:20 GMT"
NEXT_MINUTE_HEADER = "Tue, 14 Nov 2023 22:14:20 GMT"


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after": "7", "retry-after-ms": "1500"}, 1.5),
        ({"retry-after": "7", "retry-after-ms": "soon"}, 7.0),
        ({"retry-after": NEXT_MINUTE_HEADER}, 60.0),
        ({"retry-after": "Tue, 14 Nov 2023 22:14:20 -0000"}, 60.0),
        # The endpoint's clock says what it means, however wrong ours is.
        ({"retry-after": NEXT_MINUTE_HEADER, "date": "Tue, 14 Nov 2023 22:14:10 GMT"}, 10.0),
        ({"retry-after": NEXT_MINUTE_HEADER, "date": "today"}, 60.0),
        ({"retry-after": NOW_HEADER, "date": NEXT_MINUTE_HEADER}, 0.0),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after": "nan"}, None),
        ({"retry-after-ms": "nan", "retry-after": "2"}, 2.0),
        ({"retry-after": "inf"}, LONGEST_WAIT_SECONDS),
        ({"retry-after": "1e300"}, LONGEST_WAIT_SECONDS),
        ({"retry-after": "Fri, 31 Dec 9999 23:59:59 GMT"}, LONGEST_WAIT_SECONDS),
        ({"retry-after": "later"}, None),
        ({"retry-after": ""}, None),
        ({"retry-after": "Tue, 99 Nov 2023 22:14:20 GMT"}, None),
        ({"retry-after": "Tue, 14 Nov 99999 22:14:20 GMT"}, None),
    ],
)
def test_wait_is_read_in_every_form_and_never_below_zero_or_above_an_hour(
    headers: dict[str, str], seconds: float | None
) -> None:
    assert requested_wait_seconds(headers, now=NOW) == seconds
