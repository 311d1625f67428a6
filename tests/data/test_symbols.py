"""Characters and bytes as tokens, by hand and by the rule of published trainings."""

from collections import Counter

import numpy as np
import pytest

from mrconv.data.splits import tenth_of
from mrconv.data.symbols import alphabet_of, byte_alphabet, padded

TEXTS = ["abracadabra", "banana é", "é\U0001f600!", ""]


def by_rule(texts, least):
    """Tokens of the characters as torchtext numbers them: by falling frequency, then by code."""
    counts = Counter("".join(texts))
    known = sorted((one for one in counts if counts[one] >= least), key=lambda c: (-counts[c], c))
    return {one: 3 + i for i, one in enumerate(known)}


@pytest.mark.parametrize("least", [0, 1, 2, 4, 50])
def test_characters(least):
    alphabet, expected = alphabet_of(TEXTS, least), by_rule(TEXTS, max(1, least))
    assert alphabet.size == 3 + len(expected)
    for text in [*TEXTS, "zebra\n"]:
        tokens = [expected.get(one, 1) for one in text]
        assert alphabet.encoded(text, 100).tolist() == [*tokens, 2]
        for length in (1, 2, 5):
            assert alphabet.encoded(text, length).tolist() == [*tokens[: length - 1], 2]


def test_bytes():
    alphabet = byte_alphabet()
    raw = bytes(range(256))
    assert alphabet.size == 256
    assert alphabet.encoded(raw.decode("latin1"), 256).tolist() == [*raw]
    assert alphabet.encoded(raw.decode("latin1"), 10).tolist() == [*raw[:10]]
    assert alphabet.encoded("", 10).tolist() == []


def test_small_types():
    assert alphabet_of(["ab"], 1).dtype == byte_alphabet().dtype == np.uint8
    many = alphabet_of([bytes(range(256)).decode("latin1")], 1)
    assert (many.size, many.dtype) == (259, np.int32)


def test_rows():
    rows = [np.array(row, np.uint8) for row in ([1, 2, 3], [], [9])]
    x, lengths = padded(iter(rows), 3, 4, np.dtype(np.uint8))
    assert x.tolist() == [[1, 2, 3, 0], [0, 0, 0, 0], [9, 0, 0, 0]]
    assert lengths.tolist() == [3, 0, 1]


def test_tenths_are_shared_out_evenly():
    counts = np.bincount([tenth_of(bytes([i, j])) for i in range(64) for j in range(64)])
    assert len(counts) == 10
    assert counts.min() > 330
