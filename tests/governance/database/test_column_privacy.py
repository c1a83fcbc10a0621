"""Every column says what it holds about people; a new one that does not fails here."""

import csv
import re
from collections import Counter

import pytest
from django.apps import apps
from django.db import connections, models, transaction

from apps.governance.database.column_privacy import TABLE, Privacy, column_privacy, parse_table, unclassified_columns

pytestmark = [pytest.mark.kernel, pytest.mark.django_db(databases=["default", "owner"])]

CREDENTIAL = re.compile(r"(^|_)(password|salt|sealed|ciphertext|(?<!is_)digest|session_key)$")
PERSON = re.compile(r"(^|_)(end_user_key|email|username|user_id|member_user_id)$")


def columns_with(privacy: Privacy) -> set[str]:
    return {name for name, entry in column_privacy().items() if entry.privacy is privacy}


def test_every_column_of_the_database_has_one_class() -> None:
    assert unclassified_columns() == []
    assert len(column_privacy()) > 1000


def test_a_column_that_nobody_classified_is_named_and_so_is_a_class_without_a_column() -> None:
    with transaction.atomic(using="owner"), connections["owner"].cursor() as cursor:
        cursor.execute(
            "ALTER TABLE skills_skill ADD COLUMN nickname text; ALTER TABLE skills_skill DROP COLUMN category CASCADE"
        )
        assert unclassified_columns("owner") == [
            "skills_skill.nickname: column_privacy.csv has no line for this column.",
            "skills_skill.category: the database has no such column.",
        ]
        transaction.set_rollback(True, using="owner")


@pytest.mark.parametrize(
    ("line", "says"),
    [("skills_skill.body,words,", "twice"), ("skills_skill.more,public,", "'public' is not a valid Privacy")],
)
def test_a_column_listed_twice_or_under_an_unknown_class_is_refused(line: str, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        parse_table(f"{TABLE.read_text(encoding='utf-8')}{line}\n")


def test_the_table_is_sorted_so_that_a_difference_is_read_at_once() -> None:
    with TABLE.open(encoding="utf-8", newline="") as file:
        names = [row["column"] for row in csv.DictReader(file)]
    assert names == sorted(names)


def test_credentials_are_secret_and_keys_of_people_are_not_said_to_be_nothing() -> None:
    assert {name for name in column_privacy() if CREDENTIAL.search(name.split(".")[1])} <= columns_with(Privacy.SECRET)
    assert {name for name in column_privacy() if PERSON.search(name.split(".")[1])} <= columns_with(Privacy.IDENTIFIER)


def test_free_text_that_holds_nobodys_words_says_why() -> None:
    texts = {
        f"{model._meta.db_table}.{field.column}"
        for model in apps.get_models(include_auto_created=True)
        for field in model._meta.local_fields
        if type(field) in (models.TextField, models.JSONField) and not field.choices
    }
    assert len(texts) > 100
    assert {name for name in texts & columns_with(Privacy.NONE) if not column_privacy()[name].note} == set()


def test_every_class_is_in_use() -> None:
    assert Counter(entry.privacy for entry in column_privacy().values()).keys() == set(Privacy)
