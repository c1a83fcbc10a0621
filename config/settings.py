"""Django settings, derived from the environment alone."""

import hashlib
import warnings
from importlib.util import find_spec
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from django.core.exceptions import ImproperlyConfigured

from apps.notifications.smtp import mail_server
from apps.outbound.ssrf import parse_networks
from config.beat_schedule import beat_table
from config.env_settings import ROOT, Environment
from config.log_settings import logging_settings
from config.openapi_settings import SPECTACULAR_SETTINGS  # noqa: F401  # drf-spectacular reads it from the settings
from config.unfold_settings import UNFOLD  # noqa: F401  # unfold reads it from the settings

warnings.filterwarnings("ignore", message="The 'django-fsm' package", category=UserWarning)

ENV = Environment()


def database_settings(url: str, **options: str) -> dict[str, Any]:
    """Parse a PostgreSQL URL; `?host=` names a socket folder."""
    parts = urlsplit(url)
    if parts.scheme not in ("postgresql", "postgres"):
        raise ImproperlyConfigured(
            f"The database must be PostgreSQL (postgresql://...), not {parts.scheme or 'empty'}."
        )
    extra = dict(parse_qsl(parts.query))
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": unquote(parts.path.lstrip("/")),
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": extra.pop("host", parts.hostname or ""),
        "PORT": str(parts.port or extra.pop("port", "")),
        "OPTIONS": {**extra, **options},
    }


def attachment_storage(environment: Environment) -> dict[str, Any]:
    """Return a private folder that no URL serves, or a private bucket with signed URLs."""
    if not environment.attachments_s3_bucket:
        options: dict[str, Any] = {
            "location": environment.attachments_dir,
            "file_permissions_mode": 0o600,
            "directory_permissions_mode": 0o700,
        }
        return {"BACKEND": "django.core.files.storage.FileSystemStorage", "OPTIONS": options}
    options = {
        "bucket_name": environment.attachments_s3_bucket,
        "endpoint_url": environment.s3_endpoint_url or None,
        "region_name": environment.s3_region or None,
        "access_key": environment.s3_access_key_id or None,
        "secret_key": environment.s3_secret_access_key or None,
        "addressing_style": "path",
        "signature_version": "s3v4",
        "querystring_auth": True,
        "default_acl": None,
        "file_overwrite": False,
    }
    return {"BACKEND": "storages.backends.s3.S3Storage", "OPTIONS": options}


def demo_apps(environment: Environment) -> list[str]:
    """Return the demo's app if the environment asks for it; refuse if the package is not installed."""
    if not environment.demo_app:
        return []
    if find_spec("apps.demo") is None:
        raise ImproperlyConfigured(
            "DEMO_APP is true, but this installation has no package apps.demo; the container image leaves it out. "
            "Unset DEMO_APP, or run the demo from a clone with `make demo`."
        )
    return ["apps.demo"]


DEBUG = ENV.debug
SECRET_KEY = ENV.secret_key
if not SECRET_KEY:
    if not DEBUG:
        raise ImproperlyConfigured(
            "SECRET_KEY is not set. Set it, or start the product with `make demo`, which makes one."
        )
    SECRET_KEY = hashlib.sha256(str(ROOT).encode()).hexdigest()

_hosts = ENV.allowed_hosts
ALLOWED_HOSTS = [host.strip() for host in (_hosts.split(",") if isinstance(_hosts, str) else _hosts) if host.strip()]
CSRF_TRUSTED_ORIGINS = [ENV.console_url]

DATABASES: dict[str, dict[str, Any]] = {"default": database_settings(ENV.database_url)}
# A pooler may give the next transaction another connection, on which a cursor of an earlier transaction does not exist.
DATABASES["default"]["DISABLE_SERVER_SIDE_CURSORS"] = True
if ENV.database_pool_size:
    DATABASES["default"]["OPTIONS"]["pool"] = {"min_size": 1, "max_size": ENV.database_pool_size}
DATABASE_ROLE_PREFIX = ENV.database_role_prefix or DATABASES["default"]["NAME"]
DATABASE_LISTEN_URL = ENV.database_listen_url
DATABASE_OWNER_URL = ENV.database_owner_url
if DATABASE_OWNER_URL:
    # Tables belong to a role that is no superuser, so that FORCE ROW LEVEL SECURITY takes effect.
    DATABASES["owner"] = database_settings(DATABASE_OWNER_URL, options=f"-c role={DATABASE_ROLE_PREFIX}_owner")
    DATABASES["owner"]["NAME"] = DATABASES["default"]["NAME"]
    DATABASES["owner"]["TEST"] = {"MIRROR": "default"}

# The product's own templates render form fields, too.
FORM_RENDERER = "django.forms.renderers.TemplatesSetting"
INSTALLED_APPS = [
    "unfold",
    # Not the autodiscovering admin app: the console has its own site, and a worker needs no pages.
    "django.contrib.admin.apps.SimpleAdminConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.forms",
    "django.contrib.staticfiles",
    "guardian",
    "rest_framework",
    "django_filters",
    *("drf_spectacular", "drf_spectacular_sidecar"),
    "apps.governance",
    "apps.tenants",
    "apps.webhooks",
    "apps.personas",
    *("apps.skills", "apps.memory", "apps.conversations"),
    "apps.desk",
    *("apps.kill_switches", "apps.schedules", "apps.notebook"),
    "apps.tools",
    *("apps.runtime", "apps.learning", "apps.restore"),
    *("apps.review", "apps.notifications"),
    *("apps.api", "apps.mcp_server"),
    "apps.console",
    "apps.operations",
    *demo_apps(ENV),
]

MIDDLEWARE = [
    "apps.operations.route_middleware.note_route",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "apps.console.middleware.OperatorMiddleware",
]

ROOT_URLCONF = "config.urls"
ASGI_APPLICATION = "config.asgi.application"
WSGI_APPLICATION = "config.wsgi.application"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
AUTH_USER_MODEL = "tenants.User"
AUTHENTICATION_BACKENDS = ["django.contrib.auth.backends.ModelBackend"]
ANONYMOUS_USER_NAME = None
# Grants are resolved once, by tenants.identity, and checked by `governed(...)`; Django's has_perm decides nothing here.
SILENCED_SYSTEM_CHECKS = ["guardian.W001"]
LOGIN_URL = "admin:login"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [ROOT / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    },
]

STATIC_URL = "static/"
STATICFILES_DIRS = [ROOT / "static"]
STATIC_ROOT = ROOT / "staticfiles"
WHITENOISE_USE_FINDERS = True

ATTACHMENTS_DIR = ENV.attachments_dir
ATTACHMENT_BYTES = ENV.attachment_bytes
ATTACHMENTS_PER_SKILL = ENV.attachments_per_skill
ATTACHMENTS_TENANT_BYTES = ENV.attachments_tenant_bytes
ATTACHMENT_LINK_SECONDS = ENV.attachment_link_seconds
ATTACHMENTS_S3_BUCKET = ENV.attachments_s3_bucket
STORAGES: dict[str, dict[str, Any]] = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
    "attachments": attachment_storage(ENV),
}

LANGUAGE_CODE = "en"
TIME_ZONE = "UTC"
USE_TZ = True

AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 12}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]

_https = ENV.console_url.startswith("https://")
SESSION_COOKIE_SECURE = _https
CSRF_COOKIE_SECURE = _https
SECURE_SSL_REDIRECT = _https
SECURE_HSTS_SECONDS = 31_536_000 if _https else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = _https
SECURE_HSTS_PRELOAD = _https
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_AGE = 12 * 3600
SESSION_ENGINE = "apps.tenants.session_store"
X_FRAME_OPTIONS = "DENY"

REST_FRAMEWORK: dict[str, Any] = {
    "DEFAULT_AUTHENTICATION_CLASSES": ["apps.api.protocol.authentication.ActorAuthentication"],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_CONTENT_NEGOTIATION_CLASS": "apps.api.protocol.content_negotiation.ProblemNegotiation",
    "DEFAULT_PARSER_CLASSES": ["rest_framework.parsers.JSONParser"],
    "DEFAULT_FILTER_BACKENDS": ["apps.api.protocol.filters.DjangoFilterBackend"],
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "EXCEPTION_HANDLER": "apps.api.protocol.problem_details.problem_response",
    "UNAUTHENTICATED_USER": None,
    "TEST_REQUEST_DEFAULT_FORMAT": "json",
}

CELERY_BROKER_URL = ENV.redis_url
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_REJECT_ON_WORKER_LOST = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_WORKER_REDIRECT_STDOUTS = False
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_TIMEZONE = "UTC"
# A request must not wait for a broker that is down or frozen; the sweep finds the work of a lost message.
BROKER_WRITE_SECONDS = 1.0
CELERY_BROKER_POOL_ACQUIRE_TIMEOUT = BROKER_WRITE_SECONDS
CELERY_BROKER_TRANSPORT_OPTIONS = {
    "socket_connect_timeout": 1.0,
    "max_retries": 0,
    "interval_start": 0.0,
    "interval_step": 0.0,
}
CELERY_BEAT_SCHEDULE = beat_table(ENV.sweep_interval_seconds)

ANTHROPIC_API_KEY = ENV.anthropic_api_key
ANTHROPIC_BASE_URL = ENV.anthropic_base_url
DEFAULT_MODEL = ENV.default_model
MAIL_SERVER = mail_server(ENV.email_url, ENV.email_from)
CONSOLE_URL = ENV.console_url
SEALING_KEYS = [key.strip() for key in ENV.sealing_keys.split(",") if key.strip()]
try:
    REACHABLE_NETWORKS = parse_networks(ENV.reachable_networks)
except ValueError as refusal:
    raise ImproperlyConfigured(f"REACHABLE_NETWORKS contains an entry that is not a network: {refusal}.") from refusal
AGENT_KEY = ENV.agent_key
AGENT_SESSION_IDLE_SECONDS = ENV.agent_session_idle_seconds
TURN_LEASE_SECONDS = ENV.turn_lease_seconds
TURN_DEADLINE_SECONDS = ENV.turn_deadline_seconds
TURNS_IN_FLIGHT = ENV.turns_in_flight
TURN_DATABASE_THREADS = ENV.turn_database_threads
TURN_DRAIN_SECONDS = ENV.turn_drain_seconds
LOOP_TURNS = ENV.loop_turns
SWEEP_INTERVAL_SECONDS = ENV.sweep_interval_seconds
STREAMS_PER_PROCESS = ENV.streams_per_process
STREAMS_PER_TENANT = ENV.streams_per_tenant
IDEMPOTENCY_KEPT_HOURS = ENV.idempotency_kept_hours
REQUESTS_PER_MINUTE = ENV.requests_per_minute
REQUESTS_PER_MINUTE_OF_TENANT = ENV.requests_per_minute_of_tenant
DELIVERIES_KEPT_DAYS = ENV.deliveries_kept_days
DELIVERIES_IN_FLIGHT = ENV.deliveries_in_flight
DELIVERIES_PER_TENANT = ENV.deliveries_per_tenant
METRICS_TOKEN = ENV.metrics_token
METRICS_LISTEN = ENV.metrics_listen
METRICS_TENANTS = ENV.metrics_tenants
LOGGING = logging_settings(ENV.log_format)
TOOL_LISTING_SECONDS = ENV.tool_listing_seconds
