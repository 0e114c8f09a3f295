"""A real Kafka broker of one node for the tests, and the jars with which Spark talks to it.

The tests read and write topics with Spark's own Kafka source and sink: no Python client is needed.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import socket
import struct
import subprocess
import time
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Self

ROOT = Path(__file__).parent.parent
POMS = ROOT / "tests" / "kafka"
FETCHED = ROOT / "build" / "kafka"

FETCH_SECONDS = 600
FORMAT_SECONDS = 60
START_SECONDS = 60
STOP_SECONDS = 30

# Fixed, as a random one may begin with `-` and be read as an option.
CLUSTER_ID = "ssqlTestsClusterAAAAAA"
FORMAT = ("kafka.tools.StorageTool", "format", "-t", CLUSTER_ID)

# A Metadata request of version 1 that asks for no topics. Unlike an accepted connection, its answer
# tells whether the broker is in service, for it lists the brokers that are.
_METADATA = struct.pack(">hhihi", 3, 1, 1, -1, 0)


class Unavailable(Exception):
    """What is needed is not on this machine and cannot be fetched: a reason to skip."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def connector_jars() -> list[Path]:
    """Spark's Kafka source and sink."""
    return _fetch("connector")


def broker_jars() -> list[Path]:
    """Kafka itself, all in one directory."""
    return _fetch("broker")


def _fetch(name: str) -> list[Path]:
    pom = POMS / f"{name}.xml"
    target = FETCHED / f"{name}-{hashlib.sha256(pom.read_bytes()).hexdigest()[:12]}"
    if not target.exists():
        mvn = _tool("mvn")
        FETCHED.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=FETCHED) as scratch:
            jars = Path(scratch) / "jars"
            _copy_dependencies(mvn, pom, jars)
            try:
                jars.rename(target)
            except OSError:
                # Another test run was faster, and what it put there is as good.
                if not target.exists():
                    raise
    return sorted(target.glob("*.jar"))


def _copy_dependencies(mvn: str, pom: Path, jars: Path) -> None:
    goal = ["dependency:copy-dependencies", f"-DoutputDirectory={jars}"]
    try:
        run = subprocess.run(
            [mvn, "-q", "-B", "-f", str(pom), *goal],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=FETCH_SECONDS,
        )
    except subprocess.TimeoutExpired:
        raise Unavailable(f"mvn took more than {FETCH_SECONDS} s on {pom.name}") from None
    if run.returncode != 0:
        plain = re.sub(r"\x1b\[[0-9;]*m", "", run.stdout)
        errors = [line for line in plain.splitlines() if line.startswith("[ERROR]")]
        raise Unavailable(errors[0] if errors else f"mvn failed with status {run.returncode}")


def _tool(name: str) -> str:
    path = shutil.which(name)
    if path is None:
        raise Unavailable(f"{name} is not on the PATH")
    return path


class Broker:
    """`with Broker() as broker:` a broker at `broker.servers`, gone with all its data after that.

    Topics come to be when they are first written to.
    """

    servers: str  # as the option kafka.bootstrap.servers wants it
    process: subprocess.Popen[bytes]

    def __enter__(self) -> Self:
        java = _tool("java")
        classes = f"{broker_jars()[0].parent}/*"
        self._port, controller = _free_ports()
        self.servers = f"127.0.0.1:{self._port}"
        with ExitStack() as stack:
            home = Path(stack.enter_context(TemporaryDirectory(prefix="ssql-broker-")))
            self._log = home / "broker.log"
            settings = home / "server.properties"
            settings.write_text(_settings(self._port, controller, home / "data"))
            # At `info`, the settings Kafka prints would hide what went wrong.
            command = [java, "-Xmx512m", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"]
            command += ["-cp", classes]
            log = stack.enter_context(self._log.open("wb"))
            formatted = subprocess.run(
                [*command, *FORMAT, "-c", str(settings)],
                cwd=home,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                timeout=FORMAT_SECONDS,
            )
            if formatted.returncode != 0:
                raise RuntimeError(f"Kafka's storage was not formatted:\n{self._tail()}")
            self.process = subprocess.Popen(
                [*command, "kafka.Kafka", str(settings)],
                cwd=home,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
            stack.callback(self._stop)
            self._wait_until_it_answers()
            self._cleanup = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._cleanup.close()

    def answers(self) -> bool:
        """Whether the broker is there and in service."""
        try:
            with socket.create_connection(("127.0.0.1", self._port), timeout=1) as connection:
                connection.sendall(struct.pack(">i", len(_METADATA)) + _METADATA)
                with connection.makefile("rb") as reply:
                    head = reply.read(12)
        except OSError:
            return False
        if len(head) < 12:
            return False
        _size, _correlation, brokers = struct.unpack(">iii", head)
        return bool(brokers > 0)

    def _wait_until_it_answers(self) -> None:
        deadline = time.monotonic() + START_SECONDS
        while not self.answers():
            status = self.process.poll()
            if status is not None:
                raise RuntimeError(f"the broker ended with status {status}:\n{self._tail()}")
            if time.monotonic() > deadline:
                raise RuntimeError(f"no answer in {START_SECONDS} s:\n{self._tail()}")
            time.sleep(0.1)

    def _stop(self) -> None:
        self.process.terminate()
        try:
            self.process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def _tail(self) -> str:
        return "\n".join(self._log.read_text(errors="replace").splitlines()[-30:])


def _free_ports() -> tuple[int, int]:
    # Both are held at once, or the second could be the first again.
    with socket.socket() as one, socket.socket() as other:
        one.bind(("127.0.0.1", 0))
        other.bind(("127.0.0.1", 0))
        return one.getsockname()[1], other.getsockname()[1]


def _settings(port: int, controller: int, data: Path) -> str:
    return f"""\
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT
log.dirs={data}
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
num.partitions=2
"""
