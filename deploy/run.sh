#!/bin/sh
# From a fresh checkout to a running gateway:  sh deploy/run.sh [arguments of `godex serve`]
# Serves what is configured: a godex.yaml, or a provider whose key is in the environment (DEEPSEEK_API_KEY, …).
# Where nothing is configured it serves the built-in demo, which needs no key.
set -eu

root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
godex=$root/.venv/bin/godex
sh "$root/deploy/venv.sh"

configured() {
    for argument in "$@"; do
        case $argument in --demo | --config | --config=* | -h | --help) return 0 ;; esac
    done
    [ -n "${GODEX_CONFIG:-}" ] || [ -f godex.yaml ] || [ -f "$HOME/.config/godex/config.yaml" ] ||
        "$godex" config check >/dev/null 2>&1
}

if ! configured "$@"; then
    echo "No godex.yaml and no provider's key in the environment: serving the demo. \`$godex init\` makes a godex.yaml." >&2
    set -- --demo "$@"
fi
exec "$godex" serve "$@"
