"""Second factors: which codes are taken, how often, and what is kept of them."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from cryptography.fernet import Fernet
from django.core.management import CommandError, call_command
from django.db import connections
from pytest_django import Settings

from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import Conflict, Invalid
from apps.tenants.accounts.second_factor import (
    RECOVERY_CODES,
    AcceptedCode,
    enrol,
    recovery_codes_left,
    remove_second_factor,
    renew_recovery_codes,
    requires_second_factor,
    use_code,
)
from apps.tenants.accounts.sign_in_throttle import ATTEMPTS_PER_NAME, clear_code_attempts, code_throttle_seconds
from apps.tenants.accounts.totp import new_secret
from apps.tenants.actions import amend_settings
from apps.tenants.models import TenantSettings, User
from apps.tenants.models.sign_in import RecoveryCode, SecondFactor
from tests.support.database.raw_sql_as_role import NO_RIGHT, run_and_undo
from tests.support.drivers.authenticator_device import with_device
from tests.support.worlds.world import make_user, make_world

STATEMENTS = (
    "SELECT 1 FROM tenants_secondfactor",
    "DELETE FROM tenants_secondfactor",
    "SELECT 1 FROM tenants_recoverycode",
    "DELETE FROM tenants_recoverycode",
    "UPDATE tenants_user SET second_factor_enabled_at = NULL",
)

CLIENT_ADDRESS = "192.0.2.7"


@pytest.fixture
def mia(db: None) -> User:
    return make_user("mia@example.org")


def test_a_first_code_is_asked_for_before_anything_is_kept(mia: User) -> None:
    with pytest.raises(Invalid, match="not the current code"):
        enrol(mia, new_secret(), "123456", address=CLIENT_ADDRESS)
    assert not SecondFactor.objects.exists()
    assert mia.second_factor_enabled_at is None
    with_device(mia)
    with pytest.raises(Conflict, match="Remove it first"):
        with_device(mia)
    assert RecoveryCode.objects.count() == RECOVERY_CODES


def test_a_code_is_used_up_and_so_are_those_before_it(mia: User) -> None:
    device = with_device(mia)
    earlier, later = device.code(), device.code(1)
    assert use_code(mia, f" {later[:3]} {later[3:]} ", address=CLIENT_ADDRESS) is AcceptedCode.CODE
    for used in (later, earlier):
        with pytest.raises(Invalid, match="a code works once"):
            use_code(mia, used, address=CLIENT_ADDRESS)


@pytest.mark.parametrize(
    "typed", ["", "000000 1", "abcde-fghij", "".join(chr(0xFF10 + digit) for digit in range(1, 7)), "x" * 40]
)
def test_what_is_no_code_is_refused(mia: User, typed: str) -> None:
    with_device(mia)
    with pytest.raises(Invalid, match="not the current code"):
        use_code(mia, typed, address=CLIENT_ADDRESS)


def test_a_recovery_code_works_once_and_renewed_ones_end_those_before(mia: User) -> None:
    device = with_device(mia)
    first, second = device.recovery[:2]
    assert use_code(mia, first.upper().replace("-", " "), address=CLIENT_ADDRESS) is AcceptedCode.RECOVERY
    assert recovery_codes_left(mia) == RECOVERY_CODES - 1
    fresh = renew_recovery_codes(mia, address=CLIENT_ADDRESS)
    for used in (first, second):
        with pytest.raises(Invalid):
            use_code(mia, used, address=CLIENT_ADDRESS)
    assert use_code(mia, fresh[0], address=CLIENT_ADDRESS) is AcceptedCode.RECOVERY


def test_what_is_kept_opens_nothing_for_anybody_else(mia: User, settings: Settings) -> None:
    device, other = with_device(mia), make_user("mio@example.org")
    theirs = with_device(other)
    kept = SecondFactor.objects.get(user=mia)
    assert device.secret not in kept.ciphertext
    SecondFactor.objects.filter(user=other).update(ciphertext=kept.ciphertext)
    with pytest.raises(Invalid, match="None of SEALING_KEYS decrypts"):
        use_code(other, device.code(), address=CLIENT_ADDRESS)
    for code in device.recovery:
        assert not RecoveryCode.objects.filter(digest__contains=code[:5]).exists()
        with pytest.raises(Invalid):
            use_code(other, code, address=CLIENT_ADDRESS)
    settings.SEALING_KEYS = [Fernet.generate_key().decode()]
    with pytest.raises(Invalid, match="Use a recovery code"):
        use_code(mia, device.code(), address=CLIENT_ADDRESS)
    assert use_code(other, theirs.recovery[0], address=CLIENT_ADDRESS) is AcceptedCode.RECOVERY


def test_only_the_login_reads_them(mia: User) -> None:
    with_device(mia)
    world = make_world()
    for actor in (world.bot, world.operator, world.admin, world.system):
        for statement in STATEMENTS:
            assert run_and_undo(actor, statement).sqlstate == NO_RIGHT


def test_code_guesses_are_throttled_from_every_address(mia: User) -> None:
    assert [code_throttle_seconds(mia.pk) for _ in range(ATTEMPTS_PER_NAME)] == [0] * ATTEMPTS_PER_NAME
    assert code_throttle_seconds(mia.pk) > 0
    assert code_throttle_seconds(mia.pk + 1) == 0
    clear_code_attempts(mia.pk)
    assert code_throttle_seconds(mia.pk) == 0


@pytest.mark.django_db(databases=["default", "owner"])
def test_keys_are_sealed_anew_with_the_others(
    mia: User, settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    device, old = with_device(mia), settings.SEALING_KEYS[0]
    fresh = Fernet.generate_key().decode()
    settings.SEALING_KEYS = [fresh, old]
    call_command("reseal_secrets")
    assert "people: 1 secrets encrypted again, 0 cannot be decrypted." in capsys.readouterr().out
    settings.SEALING_KEYS = [fresh]
    assert use_code(mia, device.code(), address=CLIENT_ADDRESS) is AcceptedCode.CODE
    settings.SEALING_KEYS = [old]
    with pytest.raises(CommandError, match="None of SEALING_KEYS decrypts 1 secrets"):
        call_command("reseal_secrets")


def test_the_installation_resets_a_lost_second_factor(mia: User, capsys: pytest.CaptureFixture[str]) -> None:
    with_device(mia)
    call_command("drop_second_factor", "MIA@example.org")
    assert "is not asked for a code any more" in capsys.readouterr().out
    mia.refresh_from_db()
    assert (mia.second_factor_enabled_at, recovery_codes_left(mia), remove_second_factor(mia)) == (None, 0, False)
    with pytest.raises(CommandError, match="has no second factor"):
        call_command("drop_second_factor", mia.username)
    with pytest.raises(CommandError, match="There is no person"):
        call_command("drop_second_factor", "nobody")


@pytest.mark.django_db
def test_a_tenant_asks_for_none_where_none_could_be_kept(settings: Settings) -> None:
    world = make_world()
    with acting_as(world.admin):
        row = TenantSettings.objects.visible_to(world.admin).get()
    settings.SEALING_KEYS = []
    with pytest.raises(Conflict, match="SEALING_KEYS is not set"):
        amend_settings(row, actor=world.admin, is_second_factor_required=True)
    assert not requires_second_factor(world.operator)


def test_one_code_at_once_lets_one_in(committing: str) -> None:
    person = make_user("mia@example.org")
    code, together = with_device(person).code(), Barrier(8)

    def tried(_: int) -> bool:
        together.wait()
        try:
            return use_code(person, code, address=CLIENT_ADDRESS) is AcceptedCode.CODE
        except Invalid:
            return False
        finally:
            connections.close_all()

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(tried, range(8))) == 1
