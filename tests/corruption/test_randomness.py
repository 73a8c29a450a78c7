import numpy as np
import pytest
from scipy import stats

from unmask.corruption.randomness import Draws, Stream, mix

ROWS = np.repeat(np.arange(64), 512)
COLUMNS = np.tile(np.arange(512), 64)


def draws(seed=0, epoch=0, first=0):
    return Draws.of(seed, epoch, np.arange(first, first + 64))


def test_mix_is_the_published_finaliser():
    def reference(word):
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
            word = (word ^ (word >> shift)) * factor % 2**64
        return word ^ (word >> 31)

    words = [0, 1, 2, 0xDEADBEEF, 2**63, 2**64 - 1]
    assert mix(np.array(words, dtype=np.uint64)).tolist() == [reference(word) for word in words]


@pytest.mark.parametrize("key", [{"seed": 1}, {"epoch": 1}, {"seed": -1}, {"seed": 2**64 + 5}])
def test_another_seed_or_epoch_gives_unrelated_draws(key):
    a = draws().uniform(Stream.ORDER, ROWS, COLUMNS)
    b = draws(**key).uniform(Stream.ORDER, ROWS, COLUMNS)
    assert abs(np.corrcoef(a, b)[0, 1]) < 5 / np.sqrt(len(a))


def test_purposes_of_one_position_are_unrelated():
    table = np.stack([draws().uniform(stream, ROWS, COLUMNS) for stream in Stream])
    off = np.corrcoef(table) - np.eye(len(Stream))
    assert np.abs(off).max() < 5 / np.sqrt(table.shape[1])


def test_neighbouring_rows_and_positions_are_unrelated():
    grid = draws().uniform(Stream.ORDER, ROWS, COLUMNS).reshape(64, 512)
    for a, b in ((grid[1:], grid[:-1]), (grid[:, 1:], grid[:, :-1]), (grid[1:, 1:], grid[:-1, :-1])):
        assert abs(np.corrcoef(a.ravel(), b.ravel())[0, 1]) < 5 / np.sqrt(a.size)


def test_draws_are_uniform():
    values = draws(7).uniform(Stream.FATE, ROWS, COLUMNS)
    assert values.min() >= 0 and values.max() < 1
    assert stats.kstest(values, "uniform").pvalue > 0.001
    assert stats.kstest(Draws.of(7, 0, np.arange(20_000)).per_row(Stream.TURN), "uniform").pvalue > 0.001


def test_every_bit_is_set_half_the_time():
    bits = draws().bits(Stream.ORDER, ROWS, COLUMNS)
    share = [np.mean((bits >> np.uint64(bit)) & np.uint64(1)) for bit in range(64)]
    assert np.abs(np.array(share) - 0.5).max() < 5 * 0.5 / np.sqrt(len(bits))


def test_flipping_one_bit_of_a_block_number_flips_half_of_the_draw():
    numbers = np.arange(2000)
    before = Draws.of(3, 1, numbers).keys
    for bit in range(0, 62, 7):
        after = Draws.of(3, 1, numbers ^ (1 << bit)).keys
        assert abs(np.bitwise_count(before ^ after).mean() - 32) < 0.5
