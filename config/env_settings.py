"""The process environment, parsed once; this module lists every variable that the product reads."""

import os
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

ROOT = Path(__file__).resolve().parent.parent
HOME = Path(os.environ.get("PRECEPTOR_HOME", ROOT / ".preceptor"))


class Environment(BaseSettings):
    """The variables that the operator of an installation may set. Real variables override the launcher's `<home>/env` file."""

    model_config = SettingsConfigDict(env_file=HOME / "env", extra="ignore", env_ignore_empty=True)

    database_url: str = "postgresql://preceptor_login@localhost/preceptor"
    database_owner_url: str = ""
    database_listen_url: str = ""
    database_role_prefix: str = ""
    database_pool_size: int = Field(default=0, ge=0)
    redis_url: str = "redis://localhost:6379/0"
    secret_key: str = ""
    debug: bool = False
    demo_app: bool = False
    allowed_hosts: Annotated[list[str], NoDecode] | str = "localhost,127.0.0.1,[::1]"
    console_url: str = "http://127.0.0.1:8000"
    email_url: str = ""
    email_from: str = ""
    anthropic_api_key: str = ""
    anthropic_base_url: str = ""
    default_model: str = "claude-sonnet-5-5"
    sealing_keys: str = ""
    reachable_networks: str = ""
    agent_key: str = ""
    agent_session_idle_seconds: int = Field(default=1800, ge=0)
    turn_lease_seconds: int = Field(default=30, ge=2)
    turn_deadline_seconds: int = Field(default=90, ge=5)
    turns_in_flight: int = Field(default=500, ge=0, le=10_000)
    turn_database_threads: int = Field(default=6, ge=2, le=64)
    turn_drain_seconds: int = Field(default=30, ge=0)
    loop_turns: int = Field(default=20, ge=0)
    sweep_interval_seconds: float = Field(default=5.0, gt=0)
    streams_per_process: int = Field(default=400, ge=0)
    streams_per_tenant: int = Field(default=100, ge=0)
    idempotency_kept_hours: int = Field(default=24, ge=1, le=168)
    requests_per_minute: int = Field(default=6000, ge=0)
    requests_per_minute_of_tenant: int = Field(default=30_000, ge=0)
    deliveries_kept_days: int = Field(default=30, ge=2)
    deliveries_in_flight: int = Field(default=64, ge=1, le=1000)
    deliveries_per_tenant: int = Field(default=16, ge=1, le=1000)
    log_format: Literal["json", "text"] = "json"
    metrics_token: str = ""
    metrics_listen: str = ""
    metrics_tenants: bool = False
    tool_listing_seconds: int = Field(default=900, ge=60)
    attachments_dir: Path = HOME / "attachments"
    attachment_bytes: int = Field(default=5_000_000, ge=1)
    attachments_per_skill: int = Field(default=10, ge=1, le=100)
    attachments_tenant_bytes: int = Field(default=1_000_000_000, ge=1)
    attachment_link_seconds: int = Field(default=300, ge=10, le=300)
    attachments_s3_bucket: str = ""
    s3_endpoint_url: str = ""
    s3_region: str = ""
    s3_access_key_id: str = ""
    s3_secret_access_key: str = ""
