"""How long `ssql compile` takes, beside the imports that it cannot do without.

The ratio is what counts: the machine is noisy, and both are measured in turns in one run.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parent.parent
ROUNDS = 21
LIMIT = 2.5
QUERY = """CREATE STREAM packets (
  srcIP STRING, len INT, ts TIMESTAMP, WATERMARK FOR ts AS ts - INTERVAL 5 SECONDS
) WITH (connector = 'file', format = 'json', path = 'data/packets');
SELECT srcIP, count(*) AS n [RANGE TUMBLING 1 minute, WA ts] FROM packets GROUP BY srcIP;
"""


def seconds(command: list[str], env: dict[str, str]) -> float:
    start = time.perf_counter()
    subprocess.run(command, env=env, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def main() -> None:
    env = {**os.environ, "PYTHONPATH": str(ROOT / ".dev")}
    with tempfile.TemporaryDirectory() as directory:
        query = Path(directory) / "query.ssql"
        query.write_text(QUERY)
        commands = {
            'python -c "import sqlglot, lark"': [sys.executable, "-c", "import sqlglot, lark"],
            "ssql compile query.ssql": [sys.executable, "-m", "ssql", "compile", str(query)],
        }
        for command in commands.values():
            seconds(command, env)  # warm: files in memory, parser tables on disk
        times: dict[str, list[float]] = {name: [] for name in commands}
        for _ in range(ROUNDS):
            for name, command in commands.items():
                times[name].append(seconds(command, env))
    for name, measured in times.items():
        print(f"{name:36} {statistics.median(measured) * 1000:6.0f} ms (median of {ROUNDS})")
    base, compiled = (statistics.median(m) for m in times.values())
    print(f"{'ratio':36} {compiled / base:6.2f}    (at most {LIMIT})")


if __name__ == "__main__":
    main()
