import numpy as np
import pytest
from scipy import stats

from unmask.randomness import Draws, Purpose, mix_bits

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
    assert mix_bits(np.array(words, dtype=np.uint64)).tolist() == [reference(word) for word in words]


@pytest.mark.parametrize("key", [{"seed": 1}, {"epoch": 1}, {"seed": -1}, {"seed": 2**64 + 5}])
def test_another_seed_or_epoch_gives_unrelated_draws(key):
    a = draws().uniform(Purpose.ORDER, ROWS, COLUMNS)
    b = draws(**key).uniform(Purpose.ORDER, ROWS, COLUMNS)
    assert abs(np.corrcoef(a, b)[0, 1]) < 5 / np.sqrt(len(a))


def test_purposes_of_one_position_are_unrelated():
    table = np.stack([draws().uniform(purpose, ROWS, COLUMNS) for purpose in Purpose])
    off = np.corrcoef(table) - np.eye(len(Purpose))
    assert np.abs(off).max() < 5 / np.sqrt(table.shape[1])


def test_neighbouring_rows_and_positions_are_unrelated():
    grid = draws().uniform(Purpose.ORDER, ROWS, COLUMNS).reshape(64, 512)
    for a, b in ((grid[1:], grid[:-1]), (grid[:, 1:], grid[:, :-1]), (grid[1:, 1:], grid[:-1, :-1])):
        assert abs(np.corrcoef(a.ravel(), b.ravel())[0, 1]) < 5 / np.sqrt(a.size)


def test_draws_are_uniform():
    values = draws(7).uniform(Purpose.FATE, ROWS, COLUMNS)
    assert values.min() >= 0 and values.max() < 1
    assert stats.kstest(values, "uniform").pvalue > 0.001
    assert stats.kstest(Draws.of(7, 0, np.arange(20_000)).per_row(Purpose.TURN), "uniform").pvalue > 0.001


def test_every_bit_is_set_half_the_time():
    bits = draws().bits(Purpose.ORDER, ROWS, COLUMNS)
    share = [np.mean((bits >> np.uint64(bit)) & np.uint64(1)) for bit in range(64)]
    assert np.abs(np.array(share) - 0.5).max() < 5 * 0.5 / np.sqrt(len(bits))


def test_flipping_one_bit_of_a_block_number_flips_half_of_the_draw():
    numbers = np.arange(2000)
    before = Draws.of(3, 1, numbers).keys
    for bit in range(0, 62, 7):
        after = Draws.of(3, 1, numbers ^ (1 << bit)).keys
        assert abs(np.bitwise_count(before ^ after).mean() - 32) < 0.5


@pytest.mark.parametrize("count", [2, 7, 300])
def test_a_shuffle_puts_every_number_everywhere_equally_often(count):
    rows = 40_000 if count < 10 else 3_000
    order, real = Draws.of(5, 0, np.arange(rows)).shuffle(Purpose.ORDER, np.full(rows, count))
    assert real.all() and (np.sort(order, axis=1) == np.arange(count)).all()
    # Where a number stands is uniform for each, and so is who stands first.
    for column in (0, count // 2, count - 1):
        assert stats.chisquare(np.bincount(order[:, column], minlength=count)).pvalue > 0.0005
    place = np.argsort(order, axis=1)
    first, second = place[:, 0], place[:, 1]
    assert stats.binomtest(int((first < second).sum()), rows).pvalue > 0.0005


def test_every_order_of_four_comes_equally_often():
    order, _ = Draws.of(6, 2, np.arange(48_000)).shuffle(Purpose.ORDER, np.full(48_000, 4))
    _, counts = np.unique(order, axis=0, return_counts=True)
    assert len(counts) == 24 and stats.chisquare(counts).pvalue > 0.0005


def test_rows_are_shuffled_alike_in_short_and_in_long_company():
    counts = np.array([5, 40, 8192])
    short, _ = Draws.of(1, 0, np.arange(3)).shuffle(Purpose.ORDER, counts)
    long, _ = Draws.of(1, 0, np.arange(4)).shuffle(Purpose.ORDER, np.append(counts, 20_000))
    for row, count in enumerate(counts):
        assert short[row, :count].tolist() == long[row, :count].tolist()


def test_with_halves_the_even_numbers_come_first():
    order, _ = Draws.of(1, 0, np.arange(50)).shuffle(Purpose.ORDER, np.full(50, 9), halves=True)
    assert (order[:, :5] % 2 == 0).all() and (order[:, 5:] % 2 == 1).all()
    assert len(np.unique(order, axis=0)) > 40
