"""What row security asks about the present transaction, and the version stamp; before any table."""

from typing import ClassVar

from django.db import migrations

from apps.governance.database import RoleSQL

SETTINGS = """
CREATE FUNCTION app_tenant() RETURNS bigint LANGUAGE sql STABLE PARALLEL SAFE
    AS $$ SELECT nullif(current_setting('app.tenant', true), '')::bigint $$;
CREATE FUNCTION app_agent() RETURNS bigint LANGUAGE sql STABLE PARALLEL SAFE
    AS $$ SELECT nullif(current_setting('app.agent', true), '')::bigint $$;
CREATE FUNCTION app_customer() RETURNS text LANGUAGE sql STABLE PARALLEL SAFE
    AS $$ SELECT substr(nullif(current_setting('app.customer', true), ''), 2) $$;
CREATE FUNCTION stamp_version() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.version := OLD.version + 1;
    NEW.updated_at := clock_timestamp();
    RETURN NEW;
END $$;
CREATE FUNCTION move_state() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    after text := to_jsonb(NEW) ->> TG_ARGV[0];
    before text;
BEGIN
    IF TG_OP = 'INSERT' THEN
        IF after <> TG_ARGV[1] THEN
            RAISE EXCEPTION 'A row of % is born %, not %.', TG_TABLE_NAME, TG_ARGV[1], after
                USING ERRCODE = 'check_violation', CONSTRAINT = 'born_state';
        END IF;
        RETURN NEW;
    END IF;
    before := to_jsonb(OLD) ->> TG_ARGV[0];
    IF before <> after AND NOT (before || '>' || after = ANY (string_to_array(TG_ARGV[2], ' '))) THEN
        RAISE EXCEPTION 'A row of % does not move from % to %.', TG_TABLE_NAME, before, after
            USING ERRCODE = 'check_violation', CONSTRAINT = 'legal_move';
    END IF;
    RETURN NEW;
END $$;
CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% is append-only.', TG_TABLE_NAME USING ERRCODE = 'check_violation';
END $$
"""


class Migration(migrations.Migration):
    """Functions only."""

    initial = True
    dependencies: ClassVar[list[tuple[str, str]]] = []
    operations: ClassVar = [RoleSQL(SETTINGS)]
