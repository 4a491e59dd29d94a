"""The clock of all deadlines. It never goes back, and it counts the time during which the host is suspended.

On Linux, time.monotonic() stands still while the host is suspended. A lease that expired in that time would look valid
afterwards. CLOCK_BOOTTIME does not stand still.
"""

import time
from typing import Callable


def _choose() -> Callable[[], float]:
    for name in ("CLOCK_BOOTTIME", "CLOCK_MONOTONIC"):
        clock = getattr(time, name, None)
        if clock is None:
            continue
        try:
            time.clock_gettime(clock)
        except OSError:
            continue
        return lambda: time.clock_gettime(clock)
    return time.monotonic


now = _choose()
