from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import Any

import pytest
import redis
import zstandard

from app.sessions import redis_client
from app.sessions.ids import chain_tag, new_response_id
from app.sessions.record import encode
from app.sessions.redis_client import connect
from app.sessions.redis_compression import COMPRESS_ABOVE
from app.sessions.redis_store import RedisStore, record_of
from bridge.errors import CONFIG_INVALID, STORE_UNAVAILABLE, ServerError, SessionError
from tests.support.redis_server import RedisCluster, RedisServer, SentinelSet, wait_until

from .builders import OWNER, save_chain, session
from .conftest import TTL, Clock
from .gevent_script import run_patched
from .test_conversations import contents, entry, made

WAIT = 8.0  # seconds within which a call must give up on a server that says nothing; three at most are meant


@pytest.fixture
def store(shared_redis_url: str, redis_database: redis.Redis, clock: Clock) -> Iterator[RedisStore]:
    with closing(RedisStore(shared_redis_url, prefix="test", ttl=TTL, max_connections=8, clock=clock)) as store:
        yield store


def store_at(url: str, max_connections: int = 8) -> RedisStore:
    return RedisStore(url, prefix="test", ttl=TTL, max_connections=max_connections)


def unavailable(call: Callable[[], Any]) -> str:
    with pytest.raises(SessionError) as caught:
        call()
    assert caught.value.code == STORE_UNAVAILABLE
    return str(caught.value.context["reason"])


def commands(client: redis.Redis, call: Callable[[], Any]) -> dict[str, int]:
    """How often the server ran each command during `call`."""
    client.config_resetstat()
    call()
    stats = client.info("commandstats")
    names = {name.removeprefix("cmdstat_"): int(facts["calls"]) for name, facts in stats.items()}
    return {name: calls for name, calls in names.items() if not name.startswith(("info", "config"))}


# ------------------------------------------------------------------------------------------------------- round trips


def test_a_chain_of_64_takes_two_round_trips(store: RedisStore, redis_database: redis.Redis) -> None:
    ids = save_chain(store, 64)
    asked = commands(redis_database, lambda: store.resolve_chain(ids[-1], owner=OWNER))
    assert asked == {"get": 1, "mget": 1}


def test_a_chain_of_one_takes_one(store: RedisStore, redis_database: redis.Redis) -> None:
    (only,) = save_chain(store, 1)
    assert commands(redis_database, lambda: store.resolve_chain(only, owner=OWNER)) == {"get": 1}


def test_a_deeper_chain_takes_two_more_for_each_64(store: RedisStore, redis_database: redis.Redis) -> None:
    ids = save_chain(store, 130)
    asked = commands(redis_database, lambda: store.resolve_chain(ids[-1], owner=OWNER, max_depth=130))
    assert asked == {"get": 2, "mget": 2}


def test_no_more_is_fetched_than_the_depth_allows(store: RedisStore, redis_database: redis.Redis) -> None:
    ids = save_chain(store, 20)
    fetched: list[int] = []
    real = store._fetch
    store._fetch = lambda client, wanted: fetched.append(len(wanted)) or real(client, wanted)  # type: ignore[method-assign]
    with pytest.raises(SessionError):
        store.resolve_chain(ids[-1], owner=OWNER, max_depth=5)
    assert fetched == [4]


def test_saving_is_one_script_call(store: RedisStore, redis_database: redis.Redis) -> None:
    ids = save_chain(store, 3)
    child = session(new_response_id(ids[-1]), ids[-1])
    asked = commands(redis_database, lambda: store.save(child))
    assert asked.pop("eval") == 1
    assert asked == {"get": 1, "getrange": 2, "set": 1, "hset": 1, "expire": 1}  # inside the script


def test_a_conversation_and_memories_take_one_round_trip_each(store: RedisStore, redis_database: redis.Redis) -> None:
    conversation = made(store, entry(1))
    asked = store.conversations
    assert commands(redis_database, lambda: asked.read(conversation.id, OWNER)) == {"hgetall": 1}
    assert commands(redis_database, lambda: asked.append(conversation.id, OWNER, [entry(2)]))["eval"] == 1
    values = {str(number): b"x" for number in range(5)}
    assert commands(redis_database, lambda: store.remember(values, 10)) == {"set": 5}  # sent together
    assert commands(redis_database, lambda: store.recall(values)) == {"get": 5}


def test_conversations_and_memories_have_a_time_to_live(store: RedisStore, redis_database: redis.Redis) -> None:
    store.conversations.append(made(store, entry(1)).id, OWNER, [entry(2)])
    store.remember({"a": b"1"}, 50)
    assert sorted(redis_database.ttl(key) for key in redis_database.scan_iter()) == [50, int(TTL)]


def test_a_chain_is_renewed_only_when_it_is_due(store: RedisStore, redis_database: redis.Redis, clock: Clock) -> None:
    ids = save_chain(store, 2)
    clock.now += TTL / 20
    ids.append(new_response_id(ids[-1]))
    assert commands(redis_database, lambda: store.save(session(ids[-1], ids[-2])))["eval"] == 1
    clock.now += TTL / 10
    ids.append(new_response_id(ids[-1]))
    assert commands(redis_database, lambda: store.save(session(ids[-1], ids[-2])))["eval"] == 2


def test_links_say_what_names_do_not(store: RedisStore, redis_database: redis.Redis) -> None:
    """The names of ancestors only tell what to fetch: which turn follows which is read from the turns."""
    ids = save_chain(store, 3)
    value = redis_database.get(key_of(ids[2]))
    without_names = value[:4] + b"\0\0" + value[6:14] + value[14 + 2 * 16 :]
    redis_database.set(key_of(ids[2]), without_names)
    assert [turn.id for turn in store.resolve_chain(ids[2], owner=OWNER).turns] == ids
    store.save(session(ids[2], ids[0]), overwrite=True)
    assert [turn.id for turn in store.resolve_chain(ids[2], owner=OWNER).turns] == [ids[0], ids[2]]


# ------------------------------------------------------------------------------------------------------ keys, values


def key_of(response_id: str) -> str:
    return f"test:{{{chain_tag(response_id)}}}:{response_id}"


def test_all_keys_of_a_chain_share_a_hash_tag_and_have_a_time_to_live(
    store: RedisStore, redis_database: redis.Redis
) -> None:
    ids = save_chain(store, 3)
    keys = {key.decode() for key in redis_database.scan_iter()}
    assert keys == {*map(key_of, ids), f"test:{{{chain_tag(ids[0])}}}:links"}
    for key in keys:
        assert TTL - 60 < redis_database.ttl(key) <= TTL


def test_a_setting_has_no_time_to_live(store: RedisStore, redis_database: redis.Redis) -> None:
    store.setting("seal", lambda: b"key")
    assert redis_database.ttl("test:setting:seal") == -1


def test_large_values_are_compressed_and_small_ones_are_not(store: RedisStore, redis_database: redis.Redis) -> None:
    small, large = session("resp_small"), session("resp_large", request={"input": "word " * COMPRESS_ABOVE})
    for stored in (small, large):
        store.save(stored)
        value = redis_database.get(key_of(stored.id))
        assert record_of(value, zstandard.ZstdDecompressor()) == encode(stored)
    assert redis_database.strlen(key_of("resp_large")) < COMPRESS_ABOVE / 4
    assert encode(small) in redis_database.get(key_of("resp_small"))


@pytest.mark.parametrize("value", [b"", b"short", b"\xff" * 14, b"\0" * 4 + b"\xff\xff" + b"x" * 40])
def test_a_value_damaged_in_its_head_is_no_response(
    store: RedisStore, redis_database: redis.Redis, value: bytes
) -> None:
    ids = save_chain(store, 3)
    redis_database.set(key_of(ids[1]), value)
    assert store.get(ids[1], OWNER) is None
    with pytest.raises(SessionError) as caught:
        store.resolve_chain(ids[2], owner=OWNER)
    assert caught.value.code == "session.chain.not_found"
    child = session(new_response_id(ids[1]), ids[1])
    store.save(child)
    assert store.get(child.id, OWNER) == child


def test_a_key_of_another_kind_is_an_unusable_store(store: RedisStore, redis_database: redis.Redis) -> None:
    (only,) = save_chain(store, 1)
    redis_database.delete(key_of(only))
    redis_database.lpush(key_of(only), "x")
    assert "WRONGTYPE" in unavailable(lambda: store.resolve_chain(only, owner=OWNER))


def test_a_save_sent_twice_is_one_save(
    store: RedisStore, monkeypatch: pytest.MonkeyPatch, redis_database: redis.Redis
) -> None:
    """The answer to the first is lost: the retry must not take its own first try for a conflict."""
    store.ping()
    real, lost = store._client.eval, []

    def loses_the_first_answer(*arguments: Any) -> Any:
        answer = real(*arguments)
        if not lost:
            lost.append(answer)
            raise redis.TimeoutError("the answer is lost")
        return answer

    monkeypatch.setattr(store._client, "eval", loses_the_first_answer)
    stored = session(new_response_id())
    store.save(stored)
    assert lost == [b""]
    assert store.get(stored.id, OWNER) == stored


def test_a_turn_sent_twice_is_one_turn(
    store: RedisStore, monkeypatch: pytest.MonkeyPatch, redis_database: redis.Redis
) -> None:
    conversation = made(store, entry(1))
    real, lost = store._client.eval, []

    def loses_the_first_answer(*arguments: Any) -> Any:
        answer = real(*arguments)
        if not lost:
            lost.append(answer)
            raise redis.TimeoutError("the answer is lost")
        return answer

    monkeypatch.setattr(store._client, "eval", loses_the_first_answer)
    assert store.conversations.add_turn(conversation.id, OWNER, [entry(2), entry(3)])
    assert lost == [1]
    assert contents(store, conversation).entries == [entry(1), entry(2), entry(3)]


# ------------------------------------------------------------------------------------------- servers that come and go


def test_a_restart_is_survived(own_redis: RedisServer) -> None:
    with closing(store_at(own_redis.url)) as store:
        (before,) = save_chain(store, 1)
        own_redis.stop()
        assert "Connection" in unavailable(lambda: store.get(before, OWNER))
        assert "Connection" in unavailable(lambda: store.save(session("resp_1")))
        own_redis.start()
        assert store.get(before, OWNER) is None
        assert len(store.resolve_chain(save_chain(store, 3)[-1], owner=OWNER).turns) == 3


def test_a_restart_between_two_calls_is_not_noticed(own_redis: RedisServer) -> None:
    with closing(store_at(own_redis.url)) as store:
        save_chain(store, 1)
        own_redis.stop()
        own_redis.start()
        save_chain(store, 1)


def test_a_frozen_server_is_given_up_in_time_and_taken_up_again(own_redis: RedisServer) -> None:
    with closing(store_at(own_redis.url)) as store:
        ids = save_chain(store, 2)
        own_redis.freeze()
        started = time.monotonic()
        assert "Timeout" in unavailable(lambda: store.resolve_chain(ids[-1], owner=OWNER))
        assert time.monotonic() - started < WAIT
        own_redis.thaw()
        assert len(store.resolve_chain(ids[-1], owner=OWNER).turns) == 2


def test_many_who_wait_for_a_frozen_server_are_all_given_up_in_time(own_redis: RedisServer) -> None:
    with closing(store_at(own_redis.url, max_connections=2)) as store:
        store.ping()
        own_redis.freeze()
        reasons: list[str] = []
        threads = [threading.Thread(target=lambda: reasons.append(unavailable(store.ping))) for _ in range(12)]
        started = time.monotonic()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(WAIT)
        assert time.monotonic() - started < WAIT
        assert len(reasons) == 12
        own_redis.thaw()
        store.ping()


def test_a_full_server_is_named(own_redis: RedisServer) -> None:
    with closing(store_at(own_redis.url)) as store, own_redis.client() as client:
        (before,) = save_chain(store, 1)
        client.config_set("maxmemory", "1mb")
        client.config_set("maxmemory-policy", "noeviction")
        assert "memory" in unavailable(lambda: store.save(session("resp_1")))
        assert store.get(before, OWNER)


class Switch:
    """A TCP relay whose new connections can be led to another server, as a virtual address would."""

    def __init__(self, target: RedisServer) -> None:
        self.target = target
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"redis://127.0.0.1:{self._listener.getsockname()[1]}/0"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            server = socket.create_connection(("127.0.0.1", self.target.port))
            for source, sink in ((client, server), (server, client)):
                threading.Thread(target=self._copy, args=(source, sink), daemon=True).start()

    @staticmethod
    def _copy(source: socket.socket, sink: socket.socket) -> None:
        with source, sink:
            try:
                while data := source.recv(65536):
                    sink.sendall(data)
            except OSError:
                pass

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()


@contextmanager
def switch(target: RedisServer) -> Iterator[Switch]:
    with closing(Switch(target)) as made:
        yield made


def test_a_master_that_has_become_a_replica_is_left_for_the_new_one(own_redis: RedisServer) -> None:
    with RedisServer() as successor, switch(own_redis) as address, closing(store_at(address.url)) as store:
        threads = [threading.Thread(target=store.ping) for _ in range(4)]  # fills the pool
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        with own_redis.client() as client:
            client.replicaof("127.0.0.1", successor.port)
        address.target = successor
        ids = save_chain(store, 3)
        assert store.setting("seal", lambda: b"key") == b"key"
        conversation = made(store, entry(1))
        with successor.client() as client:
            assert client.exists(key_of(ids[-1]), f"test:{conversation.id}") == 2


WRITES = [
    lambda store, one: made(store, entry(1)),
    lambda store, one: store.conversations.append(one.id, OWNER, [entry(2)]),
    lambda store, one: store.conversations.update(one.id, OWNER, {}),
    lambda store, one: store.conversations.remove(one.id, OWNER, "msg_1"),
    lambda store, one: store.conversations.delete(one.id, OWNER),
    lambda store, one: store.remember({"a": b"1"}, 10),
]


@pytest.mark.parametrize("write", WRITES, ids=["create", "append", "update", "remove", "delete", "remember"])
def test_a_write_that_a_replica_refuses_is_sent_again(own_redis: RedisServer, write: Callable[..., Any]) -> None:
    with closing(store_at(own_redis.url)) as store, own_redis.client() as client:
        conversation = made(store, entry(1))
        client.replicaof("127.0.0.1", 1)
        assert "ReadOnly" in unavailable(lambda: write(store, conversation))
        client.replicaof("NO", "ONE")
        write(store, conversation)


def test_writes_after_a_new_master_need_no_second_call(own_redis: RedisServer) -> None:
    with RedisServer() as successor, switch(own_redis) as address, closing(store_at(address.url)) as store:
        store.ping()
        with own_redis.client() as client:
            client.replicaof("127.0.0.1", successor.port)
        address.target = successor
        store.remember({"a": b"1"}, 10)
        assert store.recall(["a"]) == {"a": b"1"}


# ------------------------------------------------------------------------------------------------- Sentinel, Cluster


def test_a_sentinel_leads_to_the_master_before_and_after_a_fail_over() -> None:
    with SentinelSet() as sentinels, closing(store_at(sentinels.url)) as store:
        ids = save_chain(store, 3)
        with sentinels.replica.client() as client:
            wait_until(lambda: bool(client.exists(key_of(ids[-1]))), "the replica has the chain")
        sentinels.fail_over()
        ids.append(new_response_id(ids[-1]))
        store.save(session(ids[-1], ids[-2]))
        assert [turn.id for turn in store.resolve_chain(ids[-1], owner=OWNER).turns] == ids
        with sentinels.replica.client() as client:
            assert client.exists(key_of(ids[-1]))


def test_a_cluster_keeps_chains_whole_and_spreads_them() -> None:
    with RedisCluster() as cluster, closing(store_at(cluster.url)) as store:
        store.ping()
        chains = [save_chain(store, 5) for _ in range(48)]  # each node gets some, but for once in 10^8 runs
        for ids in chains:
            assert [turn.id for turn in store.resolve_chain(ids[-1], owner=OWNER).turns] == ids
            assert [child.id for child in store.list_children(ids[0], OWNER)] == [ids[1]]
        everything = [link for ids in chains for link in ids]
        assert set(store.get_many(everything, OWNER)) == set(everything)
        for node in cluster.nodes:
            with node.client() as client:
                assert client.dbsize() > 0

        store.save(session("resp_foreign_1"))  # a chain over two tags, so perhaps over two nodes
        store.save(session("resp_foreign_2", "resp_foreign_1"))
        child = session(new_response_id("resp_foreign_2"), "resp_foreign_2")
        store.save(child)
        assert len(store.resolve_chain(child.id, owner=OWNER).turns) == 3
        assert [turn.id for turn in store.list_children("resp_foreign_1", OWNER)] == ["resp_foreign_2"]
        assert store.delete(child.id, OWNER)
        assert store.setting("seal", lambda: b"key") == store.setting("seal", lambda: b"other") == b"key"

        conversations = [made(store, entry(number)) for number in range(8)]
        assert all(store.conversations.append(one.id, OWNER, [entry("x")]) for one in conversations)
        assert all(len(contents(store, one).entries) == 2 for one in conversations)
        values = {f"memory {number}": b"%d" % number for number in range(20)}
        store.remember(values, 100)
        assert store.recall([*values, "nothing"]) == values

        for node in cluster.nodes:
            node.freeze()
        started = time.monotonic()
        unavailable(lambda: store.get(everything[0], OWNER))
        assert time.monotonic() - started < 3 * WAIT  # each node is asked for the map of slots
        for node in cluster.nodes:
            node.thaw()
        wait_until(lambda: _reads(store, everything[0]), "the cluster is whole again")


def _reads(store: RedisStore, response_id: str) -> bool:
    try:
        return store.get(response_id, OWNER) is not None
    except SessionError:
        return False


def test_a_cluster_that_is_not_there_is_an_unusable_store() -> None:
    with closing(store_at("redis+cluster://127.0.0.1:1,127.0.0.1:2")) as store:
        unavailable(store.ping)


def test_a_unix_socket_is_a_server_too() -> None:
    with RedisServer() as server:
        path = server.folder / "redis.sock"
        with RedisServer("--unixsocket", str(path)), closing(store_at(f"unix://{path}?db=3")) as store:
            assert len(store.resolve_chain(save_chain(store, 3)[-1], owner=OWNER).turns) == 3


# -------------------------------------------------------------------------------------------------------------- URLs

PLAIN_URLS = [
    ("redis://h:1/2", {"host": "h", "port": 1, "db": 2}),
    ("rediss://u:p%40@h:1/2", {"host": "h", "username": "u", "password": "p@"}),
    ("unix:///run/redis.sock?db=4", {"path": "/run/redis.sock", "db": 4}),
    ("redis://h/0?socket_timeout=7", {"socket_timeout": 7.0, "socket_connect_timeout": redis_client.SOCKET_TIMEOUT}),
]


@pytest.mark.parametrize(("url", "options"), PLAIN_URLS)
def test_a_url_names_a_server(url: str, options: dict[str, Any]) -> None:
    pool = connect(url, 5).connection_pool
    assert isinstance(pool, redis.BlockingConnectionPool)
    assert pool.max_connections == 5
    assert options.items() <= pool.connection_kwargs.items()
    assert issubclass(pool.connection_class, redis.SSLConnection) == url.startswith("rediss")


SENTINEL_URLS = [
    ("redis+sentinel://h1:1,h2/main/3", [("h1", 1), ("h2", 26379)], {"db": 3}, {}),
    ("redis+sentinel://u:p@[::1]:7/main", [("::1", 7)], {"username": "u", "password": "p"}, {"password": None}),
    (
        "rediss+sentinel://:p@h/main/0?sentinel_password=q&socket_timeout=3",
        [("h", 26379)],
        {"password": "p", "socket_timeout": 3.0},
        {"password": "q", "socket_timeout": 3.0},
    ),
]

CLUSTER_URL = "rediss+cluster://u:p@h1:1,h2:2?socket_timeout=3"


@pytest.mark.parametrize(("url", "hosts", "options", "sentinel_options"), SENTINEL_URLS)
def test_a_url_names_sentinels(
    url: str, hosts: list[tuple[str, int]], options: dict[str, Any], sentinel_options: dict[str, Any]
) -> None:
    pool = connect(url, 5).connection_pool
    assert isinstance(pool, redis.BlockingConnectionPool)
    assert pool.service_name == "main"
    assert options.items() <= pool.connection_kwargs.items()
    assert issubclass(pool.connection_class, redis.SSLConnection) == url.startswith("rediss")
    asked = [one.connection_pool for one in pool.sentinel_manager.sentinels]
    assert [(one.connection_kwargs["host"], one.connection_kwargs["port"]) for one in asked] == hosts
    for one in asked:
        assert sentinel_options.items() <= one.connection_kwargs.items()
        assert issubclass(one.connection_class, redis.SSLConnection) == url.startswith("rediss")


WRONG_URLS = [
    "", "http://h", "redis+magic://h", "redis+sentinel://h:1", "h:6379", "unix+cluster://h", "sentinel://h/main",
    "redis://:secret@h:port/0", "redis+cluster://h:1,h:port", "redis://:sec/ret@h:1/0", "redis://h/0?socket_timeout=x",
]  # fmt: skip


@pytest.mark.parametrize("url", WRONG_URLS)
def test_a_url_that_cannot_be_right_is_refused_at_once_and_not_repeated(url: str) -> None:
    with pytest.raises(ServerError) as caught:
        store_at(url)
    assert caught.value.code == CONFIG_INVALID
    assert "ret@" not in caught.value.message


@pytest.mark.parametrize("url", [*(url for url, _ in PLAIN_URLS), *(row[0] for row in SENTINEL_URLS), CLUSTER_URL])
def test_a_url_that_may_be_right_is_taken(url: str) -> None:
    store_at(url).close()


# ------------------------------------------------------------------------------------------------------------ gevent


def test_more_greenlets_than_connections_are_all_served(shared_redis_url: str, redis_database: redis.Redis) -> None:
    code = """
        import sys
        import gevent
        from app.sessions.redis_store import RedisStore
        from tests.app.sessions.builders import OWNER, save_chain

        store = RedisStore(sys.argv[1], prefix="test", ttl=100, max_connections=4)
        work = [gevent.spawn(save_chain, store, 3) for _ in range(60)]
        gevent.joinall(work, raise_error=True, timeout=20)
        print(sum(len(store.resolve_chain(one.value[-1], owner=OWNER).turns) for one in work))
        store.close()
    """
    assert run_patched(code, shared_redis_url) == "180\n"


def test_a_frozen_server_does_not_stop_a_gevent_worker(own_redis: RedisServer) -> None:
    own_redis.freeze()
    code = """
        import sys, time
        import gevent
        from app.sessions.redis_store import RedisStore
        from bridge.errors import SessionError

        def ping():
            try:
                store.ping()
            except SessionError as error:
                return error.code

        store = RedisStore(sys.argv[1], prefix="test", ttl=100, max_connections=2)
        waiting = [gevent.spawn(ping) for _ in range(5)]
        ticks = 0
        while not all(one.ready() for one in waiting):
            gevent.sleep(0.01)
            ticks += 1
        print(ticks > 20, {one.value for one in waiting})
        store.close()
    """
    assert run_patched(code, own_redis.url) == "True {'session.store.unavailable'}\n"
    own_redis.thaw()
