"""What is approved covers the files: the hash of a skill without files stays what it was."""

from typing import ClassVar

from django.db import migrations

from apps.governance.database import RoleSQL

CONTENT = """
CREATE OR REPLACE FUNCTION stamp_skill_content() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    file jsonb;
    files text := '';
BEGIN
    IF jsonb_typeof(NEW.attachments) <> 'array' THEN
        RAISE EXCEPTION 'The files of a skill are a list.' USING ERRCODE = 'check_violation';
    END IF;
    FOR file IN SELECT value FROM jsonb_array_elements(NEW.attachments) WITH ORDINALITY ORDER BY ordinality LOOP
        IF coalesce(file ->> 'name', '') = '' OR coalesce(file ->> 'media_type', '') = ''
            OR coalesce(file ->> 'sha256', '') !~ '^[0-9a-f]{64}$'
            OR NOT coalesce(starts_with(file ->> 'key', NEW.tenant_id || '/'), false)
            OR coalesce(file ->> 'key', '') ~ '[.][.]'
            OR coalesce(jsonb_typeof(file -> 'size_bytes'), '') <> 'number' THEN
            RAISE EXCEPTION 'A file of a skill is not of its tenant, or not whole.' USING ERRCODE = 'check_violation';
        END IF;
        files := concat(files, octet_length(file ->> 'name'), ':', file ->> 'name',
            octet_length(file ->> 'media_type'), ':', file ->> 'media_type', '64:', file ->> 'sha256');
    END LOOP;
    NEW.content_sha256 := encode(sha256(convert_to(concat(
        octet_length(NEW.name), ':', NEW.name, octet_length(NEW.title), ':', NEW.title,
        octet_length(NEW.description), ':', NEW.description, octet_length(NEW.body), ':', NEW.body, files), 'UTF8')), 'hex');
    IF TG_OP = 'INSERT' AND (NEW.approved_by <> '' OR NEW.approved_sha256 <> '') THEN
        RAISE EXCEPTION 'A skill is born unapproved.' USING ERRCODE = 'check_violation';
    END IF;
    RETURN NEW;
END $$;
GRANT UPDATE (attachments) ON skills_skill TO @agent@
"""


class Migration(migrations.Migration):
    """The content stamp, and the agent's right to the files of its drafts."""

    dependencies: ClassVar = [
        ("skills", "0003_attachments"),
    ]
    operations: ClassVar = [
        RoleSQL(CONTENT),
    ]
