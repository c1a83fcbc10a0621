"""Django's own command makes platform staff."""

from io import StringIO

import pytest
from django.core.management import call_command

from apps.tenants.accounts.staff_access import is_staff
from apps.tenants.models import User
from tests.support.worlds.world import make_user


@pytest.mark.django_db
def test_createsuperuser_makes_platform_staff_and_nothing_else_does() -> None:
    call_command(
        "createsuperuser", interactive=False, username="root", email="root@platform.example", stdout=StringIO()
    )
    assert is_staff(User.objects.get(username="root"))
    assert not is_staff(make_user("ana@acme.example"))
