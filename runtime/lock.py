"""One run a checkpoint: a second one waits for a first that is dying, and is refused by a live one.

When the Python process of a run is killed, its JVM goes on for a moment and may still be writing.
"""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

from ssql.runtime.failures import Kind, RunFailure

_FILE = "ssql.lock"
_PATIENCE_SECONDS = 60.0
_POLL_SECONDS = 0.1


class CheckpointLock:
    def __init__(self, directory: Path) -> None:
        self._path = directory / _FILE

    def wait(self) -> None:
        """Until nobody holds it; not longer than a dying JVM takes."""
        holders = self._holders()
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while alive := [p for p in holders if _is_alive(p)]:
            python_lives = len(holders) > 1 and holders[0] in alive
            if python_lives or time.monotonic() > deadline:
                raise RunFailure(
                    Kind.CHECKPOINT,
                    f"another run uses the checkpoint in {self._path.parent}",
                    notes=(f"its process is {alive[0][0]}",),
                    helps=("wait until it is done, or stop it",),
                )
            time.sleep(_POLL_SECONDS)

    def take(self, *processes: int) -> None:
        """Held from now on by this process and by others that it works through."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        holders = [[p, _born(p)] for p in (os.getpid(), *processes)]
        partial = self._path.with_name(f".{_FILE}.{os.getpid()}")
        partial.write_text(json.dumps(holders))
        partial.replace(self._path)

    def release(self) -> None:
        self._path.unlink(missing_ok=True)

    def _holders(self) -> list[tuple[int, str]]:
        try:
            return [(int(p), str(born)) for p, born in json.loads(self._path.read_text())]
        except (FileNotFoundError, ValueError, TypeError):
            return []  # none, or one that was cut off while it was written


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
    stat = Path(f"/proc/{process}/stat")
    if not stat.exists():
        return True  # no /proc here, and the process answers
    state = stat.read_text().rpartition(")")[2].split()[0]
    return state != "Z" and _born(process) == born
