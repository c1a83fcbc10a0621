"""Edits that people make in drafts again and again are found, shown once, and stay away when dismissed."""

import random
import time
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.learning.lessons.edit_clustering import MAX_CLUSTERS, Cluster, DraftEdit, EditKind, cluster_edits
from apps.text_analysis.pii.known_values import KnownValues
from apps.text_analysis.pii.masking import PiiMasker

pytestmark = [pytest.mark.pure, pytest.mark.kernel]

DRAFT = "Hello. Your parcel left our house. It will arrive soon. Kind regards."


def mask_name(text: str) -> str:
    return text.replace("Ada Lovelace", "[name]")


def find_clusters(edits: list[DraftEdit], known: Sequence[str] = ()) -> tuple[Cluster, ...]:
    return cluster_edits(edits, known=known)


def edits(sent: list[str], draft: str = DRAFT) -> list[DraftEdit]:
    return [DraftEdit(number, draft, mask_name(text)) for number, text in enumerate(sent, start=1)]


def test_a_sentence_that_is_added_again_and_again_is_one_cluster() -> None:
    sentences = [
        "Your order number is W-4711.",
        "The order number is 99.",
        "Order number: 12.",
        "Your order number is 5.",
    ]
    (cluster,) = find_clusters(edits([DRAFT.replace("It will", f"{each} It will") for each in sentences]))
    assert cluster.change is EditKind.ADDED
    assert cluster.edit_ids == (1, 2, 3, 4)
    assert cluster.description.startswith("In 4 drafts a person added: ")
    assert "rder number" in cluster.added
    assert not any(each.isdigit() for each in cluster.description.removeprefix("In 4"))


def test_words_that_are_replaced_and_sentences_that_are_removed_are_told() -> None:
    sent = [DRAFT.replace("soon", f"within {number} days").replace(" Kind regards.", "") for number in (2, 3, 4)]
    by_change = {each.change: each for each in find_clusters(edits(sent))}
    assert (
        by_change[EditKind.REPLACED].description
        == "In 3 drafts a person wrote “within [number] days” instead of “soon”"
    )
    assert by_change[EditKind.REMOVED].description == "In 3 drafts a person removed: Kind regards."


def test_words_that_are_added_and_removed_within_a_sentence_are_told() -> None:
    added = find_clusters(edits([DRAFT.replace("parcel left", "parcel safely left")] * 3))
    removed = find_clusters(
        edits([DRAFT.replace("our house", "house")] * 3, DRAFT.replace("our house", "lovely house"))
    )
    assert [(each.change, each.added) for each in added] == [(EditKind.ADDED, "safely")]
    assert [(each.change, each.removed) for each in removed] == [(EditKind.REMOVED, "lovely")]


def test_two_edits_are_no_habit_and_one_edit_counts_once() -> None:
    twice = DRAFT.replace("Hello.", "Hello. Sorry about that. Sorry about that.")
    assert find_clusters(edits([twice] * 2)) == ()
    assert [each.support for each in find_clusters(edits([twice] * 3))] == [3]


def test_who_is_named_is_masked_before_anything_is_compared() -> None:
    (cluster,) = find_clusters(edits([DRAFT.replace("Hello.", "Hello Ada Lovelace.")] * 3))
    assert "Ada" not in repr(cluster)
    assert "[name]" in cluster.added


def test_the_products_own_mask_groups_what_differs_by_customer() -> None:
    mask = PiiMasker.against(KnownValues()).mask
    sent = [DRAFT.replace("It will", f"Write to {name}@example.org if not. It will") for name in ("ada", "bob", "eve")]
    (cluster,) = find_clusters(edits([mask(text).text for text in sent]))
    assert cluster.added == "Write to [e-mail] if not."


def test_punctuation_and_unchanged_drafts_are_no_edits() -> None:
    assert find_clusters(edits([DRAFT.replace(".", "!")] * 5)) == ()
    assert find_clusters(edits([DRAFT] * 5)) == ()


def test_what_is_known_keeps_its_key_while_it_grows_and_takes_in_what_is_like_it() -> None:
    before = [DRAFT.replace("It will", "Your order number is 7. It will")] * 3
    (cluster,) = find_clusters(edits(before))
    later = [DRAFT.replace("It will", "The number of your order: 8. It will")] * 9
    (grown,) = find_clusters(edits([*before, *later]), known=[cluster.key])
    assert (grown.key, grown.support) == (cluster.key, 12)
    (other_words,) = find_clusters(edits(later[:1]), known=[cluster.key])
    assert (other_words.key, other_words.support) == (cluster.key, 1)
    sorry = [DRAFT.replace("It will", "We are sorry for the delay. It will")] * 3
    assert cluster.key not in {each.key for each in find_clusters(edits(sorry), known=[cluster.key])}


def test_the_key_does_not_depend_on_how_many_edits_show_it() -> None:
    sent = DRAFT.replace("soon", "on Monday")
    (few,), (many,) = find_clusters(edits([sent] * 3)), find_clusters(edits([sent] * 40))
    assert few.key == many.key
    with pytest.raises(ValueError, match="nonsense"):
        find_clusters(edits([sent] * 3), known=["nonsense"])


def test_a_whole_new_text_is_read_sentence_by_sentence() -> None:
    kinds = {each.change for each in find_clusters(edits(["Thank you for waiting. A colleague calls you."] * 3))}
    assert kinds == {EditKind.ADDED, EditKind.REMOVED}


@pytest.mark.slow
def test_many_and_hostile_edits_are_read_in_bounded_time() -> None:
    chance = random.Random(2)
    words = [f"word{number}" for number in range(300)]
    texts = [". ".join(" ".join(chance.choices(words, k=12)) for _ in range(60)) for _ in range(40)]
    many = [DraftEdit(number, chance.choice(texts), chance.choice(texts)) for number in range(100)]
    began = time.process_time()
    assert len(find_clusters(many)) <= MAX_CLUSTERS
    assert len(find_clusters([DraftEdit(number, "a " * 50_000, "[" * 50_000) for number in range(50)])) <= MAX_CLUSTERS
    assert time.process_time() - began < 60


@given(st.lists(st.tuples(st.text(max_size=60), st.text(max_size=60)), max_size=8))
def test_the_order_in_which_edits_come_changes_nothing(pairs: list[tuple[str, str]]) -> None:
    given_edits = [DraftEdit(number, draft, sent) for number, (draft, sent) in enumerate(pairs)]
    clusters = cluster_edits(given_edits, support=1)
    assert clusters == cluster_edits(reversed(given_edits), support=1)
    known = [each.key for each in clusters]
    assert {each.key for each in cluster_edits(given_edits, known=known, support=1)} >= set(known)
