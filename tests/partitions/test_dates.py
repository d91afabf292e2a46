"""Columns of dates, which are converted all at once, agree with dates that are converted alone."""

import time
from datetime import UTC, date, datetime, timedelta

import numpy as np
import pandas as pd
import pytest

from dpjax.partitions._records import Records, number_of

DAYS = np.random.default_rng(0).integers(-30_000, 30_000, 2_000).tolist()
TIMES = [datetime(1970, 1, 1, 7, 30, 5, 123) + timedelta(day) for day in DAYS]
COLUMNS = {
    "dates": [time.date() for time in TIMES],
    "times": TIMES,
    "times of NumPy": [*np.array(TIMES, "datetime64[us]")],
    "times of pandas": [*pd.Series(TIMES)],
    "missing": [*pd.Series([*TIMES, None])],
    "missing in NumPy": [*np.array([*TIMES, None], "datetime64[us]")],
    "time zones": [time.replace(tzinfo=UTC) for time in TIMES],
    "several types": [date(2000, 1, 1), *TIMES, pd.Timestamp("2000-01-01"), None],
    "years without nanoseconds": [*pd.Series(np.array(["9999-01-01"] * 3, "datetime64[s]"))],
}


@pytest.mark.parametrize("kind", COLUMNS)
def test_columns_of_dates(kind):
    found = Records.of({"at": COLUMNS[kind]}).numbers["at"]
    np.testing.assert_array_equal(found, [number_of(entry) for entry in COLUMNS[kind]])


@pytest.mark.parametrize("kind", ["dates", "times of NumPy", "times of pandas"])
def test_dates_take_little_time(kind):
    def best(convert):
        times = []
        for _ in range(5):
            start = time.perf_counter()
            convert()
            times.append(time.perf_counter() - start)
        return min(times)

    column = COLUMNS[kind]
    alone = best(lambda: [number_of(entry) for entry in column])
    assert best(lambda: Records.of({"at": column})) < alone / 2
