"""What the open format says of an imported skill is kept with it, and is part of what a person approves."""

from typing import ClassVar

from django.db import migrations, models

import apps.governance.text
from apps.governance.database import RoleSQL

# The hash of a skill without front matter stays what it was. Nobody is given the right to change it later.
CONTENT = """
CREATE OR REPLACE FUNCTION stamp_skill_content() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    file jsonb;
    files text := '';
    kept text := '';
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
    IF NEW.front_matter <> '' THEN
        kept := concat(octet_length(NEW.front_matter), ':', NEW.front_matter);
    END IF;
    NEW.content_sha256 := encode(sha256(convert_to(concat(
        octet_length(NEW.name), ':', NEW.name, octet_length(NEW.title), ':', NEW.title,
        octet_length(NEW.description), ':', NEW.description, octet_length(NEW.body), ':', NEW.body, files, kept),
        'UTF8')), 'hex');
    IF TG_OP = 'INSERT' AND (NEW.approved_by <> '' OR NEW.approved_sha256 <> '') THEN
        RAISE EXCEPTION 'A skill is born unapproved.' USING ERRCODE = 'check_violation';
    END IF;
    RETURN NEW;
END $$
"""


class Migration(migrations.Migration):
    """A column, and the content stamp with it."""

    dependencies: ClassVar = [
        ("skills", "0009_kept_skills"),
    ]
    operations: ClassVar = [
        migrations.AddField(
            model_name="skill",
            name="front_matter",
            field=models.TextField(
                blank=True, db_default="", default="", editable=False, validators=[apps.governance.text.plain_text]
            ),
        ),
        RoleSQL(CONTENT),
    ]
