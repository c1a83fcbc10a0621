"""The judge of pages: without it, a page that fetches from outside would pass unseen."""

import pytest

from tests.end_to_end.external_links import outside_addresses


@pytest.mark.parametrize(
    ("page", "outside"),
    [
        ("<a href='/admin/'>home</a> https://attacker.example/", 0),
        ("<a href=//attacker.example>x</a>", 1),
        ("<img src='https://attacker.example/x.png'>", 1),
        ("<img srcset='/own.png 1x, https://attacker.example/x.png 2x'>", 1),
        ("<p style='background: url(//attacker.example/x.png)'>", 1),
        ("<meta http-equiv=refresh content='0;url=https://attacker.example/'>", 1),
        ("<a href='javascript:go()'>x</a>", 1),
        ("<style>@import 'https://attacker.example/x.css'</style>", 1),
        ("&lt;img src='https://attacker.example/x.png'&gt;", 0),
    ],
)
def test_the_judge_of_pages_sees_what_leads_out(page: str, outside: int) -> None:
    assert len(outside_addresses(page)) == outside
