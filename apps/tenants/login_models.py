"""The tables of people who sign in, which no tenant owns and the login's database role alone reads."""

from apps.tenants.account_models import AccountEvent
from apps.tenants.attempt_models import SignInAttempts
from apps.tenants.factor_models import RecoveryCode, SecondFactor
from apps.tenants.session_store import BrowserSession

__all__ = ["AccountEvent", "BrowserSession", "RecoveryCode", "SecondFactor", "SignInAttempts"]
