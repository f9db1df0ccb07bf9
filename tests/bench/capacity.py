"""How many workers, replicas, Redis shards and nginx cores a load needs, from what one of each was measured to carry.

    python -m tests.bench.capacity --streams 5000 --turns 200 --stored 10000000
    python -m tests.bench.capacity --streams 5000 --turns 200 --stored 10000000 --turn-kb 40    # agents' long tool results

The unit costs are those of the machine and the day named below; measure your own (`tests.bench.run`, also with --nginx,
and `tests.bench.sessions_at_scale`) and change them below. It is arithmetic: nothing was run at this size.
"""

from __future__ import annotations

import math

import click

HEADROOM = 0.5  # of a core, and of the memory of Redis: a snapshot may need as much again

# Measured on 2026-11-30: two shared cores, Python 3.11.7, Redis 7.0.15, nginx 1.22.1.
CHUNK_US = 185  # CPU of a worker per chunk, at the pace of a model (run --scenario paced-500)
TURN_US = 3150  # CPU of a worker per request, conversation read and stored (run --scenario chain-8 --backend redis)
WORKER_MB = 80  # memory of a worker that is idle
STREAM_MB = 0.1  # and of each open stream (run --scenario paced-1000)
REDIS_TURN_US = 120  # CPU of Redis per stored turn, reads included (sessions_at_scale, INFO cpu)
STORED_KB = 1.8  # memory of a stored response beyond its input and output (sessions_at_scale)
NGINX_CHUNK_US = 21  # CPU of nginx (run --scenario paced-500 --nginx)
NGINX_TURN_US = 175


def needed(load: float, each_carries: float) -> int:
    return max(1, math.ceil(load / each_carries))


@click.command()
@click.option("--streams", default=1000, show_default=True, help="Open at once.")
@click.option("--chunks", default=20.0, show_default=True, help="Chunks a second of one stream.")
@click.option("--turns", default=50.0, show_default=True, help="Requests a second that begin.")
@click.option("--stored", default=1_000_000, show_default=True, help="Responses within session.ttl.")
@click.option("--turn-kb", default=2.5, show_default=True, help="Kilobytes of a stored turn, input and output.")
@click.option("--cores", default=4, show_default=True, help="Of one replica; a worker on each.")
@click.option("--shard-gb", default=16.0, show_default=True, help="Memory of one Redis.")
def main(streams: int, chunks: float, turns: float, stored: int, turn_kb: float, cores: int, shard_gb: float) -> None:
    """What a load needs."""
    spare = HEADROOM * 1e6  # microseconds of a core and second
    workers = needed(streams * chunks * CHUNK_US + turns * TURN_US, spare)
    replicas = needed(workers, cores) + 1  # one may be lost or restarting
    memory = WORKER_MB * cores + STREAM_MB * streams / max(1, replicas - 1)
    stored_gb = stored * (turn_kb + STORED_KB) / 1024**2
    by_memory, by_cpu = needed(stored_gb, shard_gb * HEADROOM), needed(turns * REDIS_TURN_US, spare)
    nginx = needed(streams * chunks * NGINX_CHUNK_US + turns * NGINX_TURN_US, spare)
    click.echo(
        f"workers          {workers}, each about {streams / workers:,.0f} streams and {turns / workers:,.1f} turns/s"
    )
    click.echo(f"replicas         {replicas} of {cores} cores, one of them to spare; {memory:,.0f} MB each")
    click.echo(f"Redis            {stored_gb:,.1f} GB stored; shards: {by_memory} for memory, {by_cpu} for CPU")
    click.echo(f"nginx            {nginx} cores")


if __name__ == "__main__":
    main()
