"""The clock of all deadlines. It never goes back, and it counts the time during which the host is suspended.

On Linux, time.monotonic() stands still while the host is suspended. A lease that expired in that time would look valid
afterwards. CLOCK_BOOTTIME does not stand still.
"""

import time
from functools import partial
from typing import Callable


def _choose() -> Callable[[], float]:
    for name in ("CLOCK_BOOTTIME", "CLOCK_MONOTONIC"):
        try:
            clock = partial(time.clock_gettime, getattr(time, name))
            clock()
        except (AttributeError, OSError):
            continue
        return clock
    return time.monotonic


now = _choose()
