"""Calls that run ahead of their results: ordered, bounded, and stopped with their reader."""

import threading
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from dpjax.sources._schedule import in_order


def double(number):
    return 2 * number


@pytest.mark.parametrize("workers", [0, 1, 3])
@pytest.mark.parametrize("ahead", [1, 2, 50])
def test_results_come_in_the_order_of_the_tasks(workers, ahead):
    tasks = ((number,) for number in range(20))
    if not workers:
        assert list(in_order(double, tasks, None, ahead)) == [2 * number for number in range(20)]
        return
    with ThreadPoolExecutor(workers) as executor:
        assert list(in_order(double, tasks, executor, ahead)) == [2 * n for n in range(20)]


@pytest.mark.parametrize("ahead", [1, 4])
def test_no_more_tasks_are_under_way_than_allowed(ahead):
    taken = []

    def tasks():
        for number in range(20):
            taken.append(number)
            yield (number,)

    with ThreadPoolExecutor(2) as executor:
        results = in_order(double, tasks(), executor, ahead)
        for number in range(5):
            assert next(results) == 2 * number
            assert len(taken) == number + ahead
        results.close()


def test_a_reader_that_ends_early_ends_what_has_not_begun():
    go_on, ran = threading.Event(), []

    def call(number):
        ran.append(number)
        if number:
            go_on.wait(60)
        return number

    with ThreadPoolExecutor(1) as executor:
        results = in_order(call, ((number,) for number in range(9)), executor, 5)
        assert next(results) == 0
        results.close()
        go_on.set()
    # The second call may have started; the three calls after it were waiting.
    assert ran in ([0], [0, 1])


@pytest.mark.parametrize("workers", [0, 1, 2])
def test_started_calls_still_count_when_time_is_over(workers):
    """With two workers, two calls are running at the time limit, and two more wait."""
    go_on, running, ran = threading.Event(), threading.Semaphore(0), []

    def call(number):
        ran.append(number)
        if workers and number > 1:
            running.release()
            go_on.wait(60)
        return number

    def over():
        if len(found) < 2:
            return False
        for _ in range(workers):
            assert running.acquire(timeout=60)
        go_on.set()
        return True

    found = []
    with ThreadPoolExecutor(workers or 1) as executor:
        pool = executor if workers else None
        for number in in_order(call, ((n,) for n in range(99)), pool, 2 * workers, over):
            found.append(number)
    assert found == ran == list(range(2 + workers))


def test_an_interrupt_cancels_nothing():
    """The owner terminates the workers; canceling a task would print a traceback."""
    futures = []

    class Interrupted:
        def submit(self, call, *given):
            future = Future()
            futures.append(future)
            if len(futures) == 2:
                future.set_exception(KeyboardInterrupt())
            elif len(futures) == 1:
                future.set_result("first")
            return future

    results = in_order(double, ((n,) for n in range(9)), Interrupted(), 4)
    assert next(results) == "first"
    with pytest.raises(KeyboardInterrupt):
        next(results)
    assert len(futures) == 5 and not any(future.cancelled() for future in futures)
