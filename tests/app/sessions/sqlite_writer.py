"""A worker process on a shared file: waits for its start, saves chains and fights for contested ids.

    python -m tests.app.sessions.sqlite_writer PATH NUMBER CHAINS LENGTH

Prints the newest id of each of its chains, then "won N": how many of the contested ids it got.
"""

from __future__ import annotations

import sys

from app.sessions.sqlite_store import SqliteStore
from bridge.errors import STORE_CONFLICT, SessionError

from .builders import save_chain, session

CONTESTED = [f"resp_contested_{number}" for number in range(20)]


def main(path: str, number: int, chains: int, length: int) -> None:
    sys.stdin.read(1)
    store = SqliteStore(path, ttl=1000)
    won = 0
    for contested in CONTESTED:
        try:
            store.save(session(contested, metadata={"by": str(number)}))
            won += 1
        except SessionError as error:
            assert error.code == STORE_CONFLICT, error.context
    for _ in range(chains):
        print(save_chain(store, length)[-1])
    print("seal", store.setting("seal", lambda: str(number).encode()).decode())
    print("won", won)


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
