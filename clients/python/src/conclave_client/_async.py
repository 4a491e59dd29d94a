"""`lead` for asyncio: the work is a task, which is cancelled when it should end."""

import asyncio
import threading
from typing import Awaitable, Callable, Optional, Tuple, TypeVar

from ._errors import LeadStopped, LeaseLost
from ._lead import Lead
from ._term import Term

Result = TypeVar("Result")


async def run_async(
    make_lead: Callable[[threading.Event], Lead], work: Callable[[Term], Awaitable[Result]]
) -> Result:
    while True:
        stop = threading.Event()
        lead = make_lead(stop)
        term = await _enter(lead, stop)
        try:
            is_done, result = await _run(term, work)
        finally:
            await _exit(lead)
        if is_done:
            assert result is not None
            return result[0]


async def _enter(lead: Lead, stop: threading.Event) -> Term:
    """Waits for a term in a thread. If this task is cancelled, the thread ends, too."""
    entering = asyncio.get_running_loop().run_in_executor(None, lead.__enter__)
    try:
        return await asyncio.shield(entering)
    except asyncio.CancelledError:
        stop.set()
        try:
            await entering
        except LeadStopped:
            pass
        else:
            await _exit(lead)
        raise


async def _exit(lead: Lead) -> None:
    """Releases the claim, also if this task is cancelled meanwhile."""
    await asyncio.shield(asyncio.get_running_loop().run_in_executor(None, lead.__exit__))


async def _run(
    term: Term, work: Callable[[Term], Awaitable[Result]]
) -> Tuple[bool, Optional[Tuple[Result]]]:
    """(True, (result,)) if the work ended by itself, (False, None) if the term ended."""
    loop = asyncio.get_running_loop()
    task = asyncio.ensure_future(work(term))

    def cancel() -> None:
        try:
            loop.call_soon_threadsafe(task.cancel)
        except RuntimeError:
            pass  # The loop is closed, and the task with it.

    term.on_stopping(cancel)
    try:
        await asyncio.wait({task})
    except asyncio.CancelledError:
        # The caller's task is cancelled. The claim is released only after the work has ended.
        task.cancel()
        await asyncio.wait({task})
        raise
    if task.cancelled():
        if term.stopping.is_set():
            return False, None
        raise asyncio.CancelledError
    error = task.exception()
    if error is not None and not isinstance(error, LeaseLost):
        raise error
    if error is not None or term.stopping.is_set():
        return False, None
    return True, (task.result(),)
