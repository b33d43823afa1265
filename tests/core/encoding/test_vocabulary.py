"""Words to codes and back: what a dict would say, whatever the words are made of."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_bayes.core.encoding._bags import BagEncoder
from stream_bayes.core.encoding._vocabulary import Vocabulary
from stream_bayes.core.values.values import OTHER, name_order

UNSEEN = -2


class Named(str):
    """A text of a class of its own, equal to a plain one."""


def again(text: str) -> str:
    """An equal text that is another object."""
    return "".join(list(text))


# From one letter to more than two words of the machine; of one, two and four bytes a letter.
texts = st.text(st.sampled_from("ab\xe9\u0436\u4e2d\U0001f600"), max_size=20)
tokens = (
    texts | texts.map(Named) | st.booleans() | st.integers(0, 3) | st.sampled_from([0.5, 1.0]) | st.none()
)


@given(st.lists(tokens, max_size=40), st.lists(tokens, max_size=20))
def test_a_vocabulary_is_a_dict_from_words_to_numbers(known: list[Any], asked: list[Any]) -> None:
    codes = {word: code for code, word in enumerate(dict.fromkeys(known))}
    vocabulary = Vocabulary(list(codes))
    for word in [*known, *asked]:
        assert vocabulary.find(word) == vocabulary.lookup(word) == codes.get(word, UNSEEN)


@pytest.mark.parametrize("length", range(40))
@pytest.mark.parametrize("letter", ["a", "\xe9", "\u0436", "\U0001f600"])
def test_a_word_is_found_by_its_letters(letter: str, length: int) -> None:
    word = letter * length
    vocabulary = Vocabulary([word])
    assert vocabulary.find(again(word)) == 0
    assert vocabulary.find(again(word) + letter) == UNSEEN
    for place in range(length):
        assert vocabulary.find(word[:place] + "b" + word[place + 1 :]) == UNSEEN


@pytest.mark.parametrize("length", [3, 12])
def test_words_with_the_same_mark_are_told_apart(length: int) -> None:
    """Of 200,000 words some five pairs share the 32 bits of their hashes that the table holds."""
    rng = random.Random(length)
    words = {"".join(map(chr, rng.choices(range(1, 256), k=length))) for _ in range(200_000)}
    vocabulary = Vocabulary()
    assert vocabulary.restore(list(words))
    assert all(vocabulary.find(again(word)) == code for code, word in enumerate(words))
    row = BagEncoder(Vocabulary(), vocabulary).encode({again(word): 1 for word in words}, "ham", 1.0)
    assert list(row.code[: row.entries]) == list(range(len(words)))


@given(
    st.lists(st.dictionaries(texts, st.sampled_from([0, 1, 2, 0.5, None]), max_size=12), max_size=8),
    st.none() | st.integers(1, 5),
)
def test_a_bag_is_read_as_one_word_after_the_other_would_be(
    bags: list[dict[str, Any]], limit: int | None
) -> None:
    """Words of a bag are sought all at once, while the words before them may be given codes."""
    encoder = BagEncoder(Vocabulary(), Vocabulary(limit=limit))
    codes: dict[str, int] = {}
    other = UNSEEN
    for bag in bags:
        wanted: dict[int, float] = {}
        for word, count in bag.items():
            if not count:
                continue
            if word not in codes and limit is not None and len(codes) >= limit:
                other = limit
            else:
                codes.setdefault(word, len(codes))
            code = codes.get(word, other)
            wanted[code] = wanted.get(code, 0.0) + count
        row = encoder.encode({again(word): count for word, count in bag.items()}, "ham", 1.0)
        encoder.created.clear()  # as learning does once it cannot fail
        assert dict(zip(row.code[: row.entries], row.amount[: row.entries], strict=True)) == wanted
        assert row.entries == len(wanted)
    assert encoder.tokens.values[: len(codes)] == list(codes)


def test_removed_values_are_new_again_and_all_others_keep_their_codes() -> None:
    values = [f"value {number}" for number in range(300)]
    vocabulary, held = Vocabulary(values), dict(zip(values, range(300), strict=True))
    rng = random.Random(0)
    for step in range(400):
        value = rng.choice(values)
        if value in held:
            vocabulary.remove(held.pop(value))
        else:
            held[value] = vocabulary.name(value)
            assert held[value] == len(vocabulary.values) - 1
        if step % 40 == 0:
            assert {each: vocabulary.find(each) for each in values if each in vocabulary} == held
    assert all(vocabulary.values[code] == value for value, code in held.items())
    assert sum(value is None for value in vocabulary.values) == len(vocabulary.values) - len(held)


def test_codes_by_name_follow_every_change_of_the_values() -> None:
    known = Vocabulary(["m", "c"], limit=4)

    def by_definition() -> list[int]:
        named = [code for code, value in enumerate(known.values) if value is not OTHER]
        shared = [code for code, value in enumerate(known.values) if value is OTHER]
        return sorted(named, key=lambda code: name_order(known.values[code])) + shared

    assert known.codes_by_name() == by_definition() == [1, 0]
    known.name("a")
    assert known.codes_by_name() == by_definition() == [2, 1, 0]
    known.remove_newest()
    known.name("z")  # as many values as before, with another name
    assert known.codes_by_name() == by_definition() == [1, 0, 2]
    known.restore(["9", "10", "b"])
    assert known.codes_by_name() == by_definition() == [1, 0, 2]
    for late in ("d", "e", "a"):  # the last two share a code, which comes last
        known.name(late)
    assert known.codes_by_name() == by_definition() == [1, 0, 2, 3, 4]
