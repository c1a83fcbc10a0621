"""Settings of the test run: the product's own, on a database that `conftest.py` starts and points to."""

import os

from tests.support.temp_folders import own_folder, sweep_folders
from tests.support.undefined_variables import UndefinedVariable

PREFIX = "preceptor_test"

os.environ["SECRET_KEY"] = "only for tests, and long enough for Django to accept it: 0123456789"
os.environ["SEALING_KEYS"] = "b25seSBmb3IgdGVzdHMsIGFuZCAzMiBieXRlcyBsb24="
os.environ["DATABASE_ROLE_PREFIX"] = PREFIX
os.environ["DATABASE_URL"] = f"postgresql://{PREFIX}_login@/{PREFIX}?host=/nowhere"
os.environ["DATABASE_OWNER_URL"] = f"postgresql://postgres@/{PREFIX}?host=/nowhere"
os.environ["PRECEPTOR_HOME"] = "/nonexistent"
os.environ["DEMO_APP"] = "true"
# Files of this test process alone.
sweep_folders()
os.environ["ATTACHMENTS_DIR"] = str(own_folder())
# Tests ask the API as fast as they can.
os.environ["REQUESTS_PER_MINUTE"] = os.environ["REQUESTS_PER_MINUTE_OF_TENANT"] = "0"
# Only `make live-test` talks to the model the caller's environment names; everything else is kept from it.
LIVE_MODEL = {
    name: value
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "DEFAULT_MODEL")
    if (value := os.environ.pop(name, ""))
}
for name in ("DATABASE_POOL_SIZE", "REDIS_URL", "AGENT_KEY", "CONSOLE_URL", "EMAIL_URL", "DEBUG"):
    os.environ.pop(name, None)

from config.settings import *  # noqa: E402, F403  # the environment has to stand before the settings read it

# Nobody collects static files for a test; whitenoise would warn about it at every client.
WHITENOISE_AUTOREFRESH = True
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
# A template that names what it was not given fails, where production shows nothing.
TEMPLATES[0]["OPTIONS"]["string_if_invalid"] = UndefinedVariable()  # type: ignore[index]  # noqa: F405
