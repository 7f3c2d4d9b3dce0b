"""Which cells a second try measures again."""

from __future__ import annotations

from book.builder.retry import claim_failed, to_measure_again

from nbformat.v4 import new_code_cell, new_output

TIMED = {"tags": ["nbval-ignore-output"]}
PRINTED = [new_output("stream", text="3\n")]


ERROR = new_output("error", ename="AssertionError", evalue="", traceback=[])


def test_a_claim_has_failed_also_where_a_figure_comes_after_the_error():
    cells = [new_code_cell("plot()\nassert fast", metadata=TIMED)]
    assert claim_failed(cells, 0, [*PRINTED, ERROR]) and claim_failed(cells, 0, [ERROR, *PRINTED])
    assert not claim_failed(cells, 0, PRINTED) and not claim_failed(cells, 0, [])


def test_a_cell_of_its_own_that_judges_a_measurement_may_fail_once():
    """One that judges what is the same in every run may not."""
    cells = [
        new_code_cell("seconds = measure()", metadata=TIMED),
        new_code_cell("bytes_sent = count()"),
        new_code_cell("assert seconds < 1"),
        new_code_cell("assert bytes_sent == 4"),
    ]
    assert claim_failed(cells, 2, [ERROR]) and to_measure_again(cells, 2) == [0]
    assert not claim_failed(cells, 3, [ERROR])


def test_what_is_printed_and_compared_is_not_made_again():
    """A second network would have other weights than those that the notebook prints."""
    cells = [
        new_code_cell("device = choose()", metadata=TIMED),
        new_code_cell("net = get_net(device)\nprint(net)", outputs=PRINTED),
        new_code_cell("seconds = measure(net)", metadata=TIMED),
        new_code_cell("half = seconds / 2"),
        new_code_cell("assert half < 1", metadata=TIMED),
        new_code_cell("print(net)\nassert net", metadata=TIMED),
    ]
    assert to_measure_again(cells, 4) == [2, 3]
    assert to_measure_again(cells, 5) == []


def test_what_reads_a_name_that_means_something_else_by_now_is_not_made_again():
    cells = [
        new_code_cell("F = 3"),
        new_code_cell("share = measure(F)", metadata=TIMED),
        new_code_cell("F = {}"),
        new_code_cell("seconds = measure(F)", metadata=TIMED),
        new_code_cell("assert seconds < share", metadata=TIMED),
    ]
    assert to_measure_again(cells, 4) == [3]


def test_of_a_name_that_many_cells_set_the_last_counts():
    cells = [
        new_code_cell("import d2l\ndevice = d2l.choose()", metadata=TIMED),
        new_code_cell("with d2l.Crowding() as crowding:\n    fast = measure()", metadata=TIMED),
        new_code_cell("with d2l.Crowding() as crowding:\n    slow = measure()", metadata=TIMED),
        new_code_cell("assert slow > 1 or crowding.excuses(d2l.claim)", metadata=TIMED),
    ]
    assert to_measure_again(cells, 3) == [2]


def test_what_a_loop_sets_is_no_name_of_another_cell():
    cells = [
        new_code_cell("for name in jobs:\n    times = {name: measure(name)}", metadata=TIMED),
        new_code_cell("for name in others:\n    print(name, measure(name))", metadata=TIMED),
        new_code_cell("assert all(times[name] < 1 for name in jobs)", metadata=TIMED),
    ]
    assert to_measure_again(cells, 2) == [0]


def test_the_nearest_way_back_ends_at_each_cell_that_measures():
    cells = [
        new_code_cell("F = 3"),
        new_code_cell("P = measure(F)", metadata=TIMED),
        new_code_cell("rate = measure(P)", metadata=TIMED),
        new_code_cell("share = rate / P"),
        new_code_cell("assert share < 1", metadata=TIMED),
    ]
    assert to_measure_again(cells, 4) == [1, 2, 3]
