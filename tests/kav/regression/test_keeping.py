"""Answers kept beside samples that never change."""

from __future__ import annotations

import numpy as np

from kav.regression.keeping import Keeping
from kav.regression.prepared import Prepared


def test_an_answer_is_made_once_and_few_are_kept():
    keeping, made = Keeping(), []
    for key in [*range(100), 99, 99]:
        assert keeping.kept(key, lambda key=key: made.append(key) or 2 * key) == 2 * key
    assert made == list(range(100))
    assert len(keeping._kept) <= 32


def test_samples_with_one_moved_do_not_answer_for_where_it_was(make_set):
    x, y = make_set("uniform", 600)
    prepared = Prepared.of(x, y)
    before = prepared.fit(np.asarray([x[3]]), 0.1)
    moved = prepared.moved(3, x[3], y[3] + 5, was=(x[3], y[3]))
    assert moved.fit(np.asarray([x[3]]), 0.1) > before
    np.testing.assert_array_equal(prepared.fit(np.asarray([x[3]]), 0.1), before)
