"""Numbers of examples, against SplitMix64 in Python's own integers."""

import numpy as np
import pytest

from mrconv.data.random_streams import below, drawn, example_keys, uniform

WHOLE = 2**64


def mixed(value: int) -> int:
    value = (value ^ value >> 30) * 0xBF58476D1CE4E5B9 % WHOLE
    value = (value ^ value >> 27) * 0x94D049BB133111EB % WHOLE
    return value ^ value >> 31


def test_numbers_are_those_of_splitmix():
    # the first outputs of the published generator, seeded by 0 and by 1234567
    assert drawn(np.zeros(1, np.uint64), np.arange(2)).tolist() == [
        0xE220A8397B1DCDAF,
        0x6E789E6AA1B965F4,
    ]
    key = 1234567
    expected = [mixed((key + n * 0x9E3779B97F4A7C15) % WHOLE) for n in (1, 2, 3)]
    assert expected[:2] == [6457827717110365317, 3203168211198807973]
    assert drawn(np.array([key], np.uint64), np.arange(3)).tolist() == expected
    assert drawn(np.array([key], np.uint64), 2).tolist() == expected[2:]


def test_an_example_has_its_numbers_wherever_the_work_is_cut():
    whole = example_keys(7, 0, 50)
    assert len(set(whole.tolist())) == 50
    assert (example_keys(7, 13, 31) == whole[13:31]).all()
    assert not np.isin(example_keys(8, 0, 50), whole).any()
    assert len(example_keys(7, 3, 3)) == 0
    assert (example_keys(2**64 + 7, 0, 50) == whole).all()


@pytest.mark.parametrize("limit", [1, 2, 9, 10, 360])
def test_whole_numbers_are_as_likely_as_each_other(limit):
    bits = drawn(example_keys(0, 0, 200), np.arange(500)[:, None]).ravel()
    counts = np.bincount(below(bits, limit), minlength=limit)
    assert len(counts) == limit
    assert (np.abs(counts - 1e5 / limit) < 5 * np.sqrt(1e5 / limit)).all()


def test_uniform_numbers():
    numbers = uniform(drawn(example_keys(1, 0, 100_000), 0))
    assert 0 <= numbers.min() < numbers.max() < 1
    assert numbers.mean() == pytest.approx(0.5, abs=0.005)
    assert numbers.var() == pytest.approx(1 / 12, abs=0.002)
