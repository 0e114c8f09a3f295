"""One run a checkpoint: a second one waits for a first that is dying, and is refused by a live one.

When the Python process of a run is killed, its JVM goes on for a moment and may still be writing.
"""

from __future__ import annotations

import json
import os
import time
from contextlib import suppress
from pathlib import Path

from ssql.runtime.failures import Kind, RunFailure

_FILE = "ssql.lock"
_PATIENCE_SECONDS = 60.0
_POLL_SECONDS = 0.1


class CheckpointLock:
    def __init__(self, directory: Path) -> None:
        self._path = directory / _FILE

    def take(self) -> None:
        """Hold it from now on; waits no longer than a dying JVM takes."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while not self._created():
            holders = self._holders()
            alive = [p for p in holders if _is_alive(p)]
            if not alive:
                self._remove_stale()
                continue
            python_lives = holders[0] in alive
            if python_lives or time.monotonic() > deadline:
                raise RunFailure(
                    Kind.CHECKPOINT,
                    f"another run uses the checkpoint in {self._path.parent}",
                    notes=(f"its process is {alive[0][0]}",),
                    helps=("wait until it is done, or stop it",),
                )
            time.sleep(_POLL_SECONDS)

    def share(self, process: int) -> None:
        """It is held as long as that process lives, too."""
        partial = self._path.with_name(f".{_FILE}.{os.getpid()}")
        partial.write_text(_text(os.getpid(), process))
        partial.replace(self._path)

    def release(self) -> None:
        self._path.unlink(missing_ok=True)

    def _created(self) -> bool:
        """A link appears with its text or not at all, and one of two who try succeeds."""
        partial = self._path.with_name(f".{_FILE}.{os.getpid()}")
        partial.write_text(_text(os.getpid()))
        try:
            os.link(partial, self._path)
        except FileExistsError:
            return False
        finally:
            partial.unlink()
        return True

    def _remove_stale(self) -> None:
        """Of several who find it stale, one moves it away; the others find nothing."""
        stale = self._path.with_name(f".{_FILE}.stale.{os.getpid()}")
        with suppress(FileNotFoundError):
            self._path.rename(stale)
            stale.unlink()

    def _holders(self) -> list[tuple[int, str]]:
        try:
            return [(int(p), str(born)) for p, born in json.loads(self._path.read_text())]
        except (FileNotFoundError, ValueError, TypeError):
            return []  # none, or one that was cut off while it was written


def _text(*processes: int) -> str:
    return json.dumps([[p, _born(p)] for p in processes])


def _born(process: int) -> str:
    """When a process began, so that a later one of the same number is another."""
    try:
        stat = Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return ""
    return stat.rpartition(")")[2].split()[19]


def _is_alive(holder: tuple[int, str]) -> bool:
    process, born = holder
    if process == os.getpid():
        return False
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    if not Path("/proc/self/stat").exists():
        return True  # the process answers, and no more is known here
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False  # gone meanwhile
    return state != "Z" and _born(process) == born
