from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ui.widgets.labels import Box, Obstacles, Remembered, along, belongs, candidates, place

BOUNDS = Box(0, 0, 400, 250)
places_across = st.floats(-20, 420)
places_down = st.floats(-20, 270)
dots = st.lists(st.tuples(places_across, places_down, st.floats(1, 15)), max_size=12)
points = st.lists(st.tuples(places_across, places_down), min_size=2, max_size=6)


def obstacles(dot_list, line):
    return Obstacles.of(np.asarray(dot_list, dtype=float).reshape(-1, 3), [np.asarray(line, dtype=float)])


def finely(line, n=400):
    """Points along a polyline, far closer together than a box is wide."""
    line = np.asarray(line, dtype=float)
    share = np.linspace(0, 1, n)[:, None]
    return np.concatenate([start + share * (stop - start) for start, stop in pairwise(line)])


def holds_point(box, x, y):
    return box.left < x < box.right and box.top < y < box.bottom


@given(dots, points, st.floats(0, 400), st.floats(0, 250), st.floats(10, 90))
def test_a_placed_label_stays_in_the_plot_and_meets_no_dot_and_no_curve(dot_list, line, x, y, width):
    box = place(candidates(x, y, 4, width, 14), BOUNDS, obstacles(dot_list, line))
    if box is None:
        return
    assert BOUNDS.holds(box)
    for dot_x, dot_y, radius in dot_list:
        nearest = np.clip(dot_x, box.left, box.right), np.clip(dot_y, box.top, box.bottom)
        assert np.hypot(dot_x - nearest[0], dot_y - nearest[1]) >= radius
    assert not any(holds_point(box, *point) for point in finely(line))


@given(dots, points, st.floats(0, 400), st.floats(0, 250))
def test_no_label_only_where_every_candidate_is_refused(dot_list, line, x, y):
    taken = obstacles(dot_list, line)
    if place(candidates(x, y, 4, 60, 14), BOUNDS, taken) is None:
        assert not any(BOUNDS.holds(box) and taken.free(box) for box in candidates(x, y, 4, 60, 14))


@given(st.lists(st.tuples(st.floats(0, 400), st.floats(0, 250)), max_size=20))
def test_labels_placed_one_after_the_other_never_overlap(anchors):
    taken, boxes = obstacles([], [(0, 0), (0, 0)]), []
    for x, y in anchors:
        box = place(candidates(x, y, 4, 50, 14), BOUNDS, taken)
        if box is not None:
            boxes.append(box)
            taken = taken.with_box(box)
    assert not any(one.meets(other) for i, one in enumerate(boxes) for other in boxes[:i])


@given(points, st.floats(0, 380), st.floats(0, 230), st.floats(5, 60), st.floats(5, 40))
def test_a_segment_meets_a_box_exactly_if_some_of_its_points_are_inside(line, left, top, width, height):
    box = Box(left, top, width, height)
    met = not obstacles([], line).free(box, 0)
    # A point that is inside by less than a millionth of a pixel may be told to be on the edge.
    if any(holds_point(box.grown(-1e-6), *point) for point in finely(line)):
        assert met
    if met:
        assert any(holds_point(box.grown(1.5), *point) for point in finely(line, 2000))


@pytest.mark.parametrize(
    ("blocked", "chosen"),
    [((), 0), ((0,), 1), ((0, 1), 2), ((0, 1, 2), 3), ((0, 1, 2, 3), 4), ((0, 1, 2, 3, 4), 5)],
)
def test_places_are_tried_right_left_above_below_then_diagonally(blocked, chosen):
    boxes = candidates(200, 120, 4, 60, 14)
    # A speck in the middle of each refused place; diagonals overlap the upright ones, so keep it at the far end.
    specks = [Box(boxes[i].left + boxes[i].width / 2, boxes[i].top + boxes[i].height / 2, 0.1, 0.1) for i in blocked]
    taken = Obstacles.of(boxes=specks)
    expected = next(box for box in boxes if taken.free(box))
    assert place(boxes, BOUNDS, taken) == expected
    if chosen < 4:
        assert expected == boxes[chosen]


def test_a_gap_in_a_curve_is_no_obstacle():
    line = np.asarray([[0, 50], [100, 50], [np.nan, np.nan], [300, 50], [400, 50]])
    assert Obstacles.of(lines=[line]).free(Box(150, 45, 100, 10))


def test_the_name_of_a_curve_stands_beside_it():
    x = np.linspace(0, 400, 101)
    line = np.stack([x, 125 - 60 * np.sin(x / 60)], axis=1)
    box = place(along(line, 110, 13, prefer=0.5), BOUNDS, Obstacles.of(lines=[line]))
    assert box is not None
    away = np.hypot(
        line[:, 0] - np.clip(line[:, 0], box.left, box.right), line[:, 1] - np.clip(line[:, 1], box.top, box.bottom)
    )
    assert 2 <= away.min() <= 30


def test_a_name_belongs_to_the_nearer_curve():
    upper, lower = (np.stack([np.linspace(0, 400, 50), np.full(50, y)], axis=1) for y in (50.0, 150.0))
    assert belongs(upper, [lower])(Box(100, 60, 50, 12))
    assert not belongs(upper, [lower])(Box(100, 130, 50, 12))


def test_a_remembered_label_stays_while_its_place_is_free():
    remembered, dot = Remembered(), (200, 120, 4)
    free = Obstacles.of(np.asarray([dot], dtype=float))
    right = Box(210, 114, 30, 12)  # in the way of the first place only
    remembered.begin("frame")
    left = remembered.place(candidates(*dot, 60, 14), BOUNDS, free.with_box(right))
    assert left == candidates(*dot, 60, 14)[1]
    remembered.begin("frame")
    assert remembered.place(candidates(*dot, 60, 14), BOUNDS, free) == left
    remembered.begin("another frame")
    assert remembered.place(candidates(*dot, 60, 14), BOUNDS, free) == candidates(*dot, 60, 14)[0]


def test_a_remembered_label_gives_way_when_its_place_is_taken():
    remembered, dot = Remembered(), (200, 120, 4)
    free = Obstacles.of(np.asarray([dot], dtype=float))
    for taken, chosen in (((), 0), ((0,), 1), ((0, 1), 2), ((), 2)):
        boxes = candidates(*dot, 60, 14)
        specks = [Box(boxes[i].left + 28, boxes[i].top + 6, 1, 1) for i in taken]
        remembered.begin("frame")
        assert remembered.place(boxes, BOUNDS, Obstacles.of(free.dots, boxes=specks)) == boxes[chosen]
