#!/bin/sh
# Makes .venv in the checkout and installs GodeX into it, so that edits of the checkout count at once.
#   venv.sh [EXTRA]     EXTRA is one of setup.cfg's extras_require, such as `test`
# The second time it returns at once, unless setup.cfg or setup.py changed. Talks on stderr.
set -eu

root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
venv=$root/.venv
extra=${1:-}
python=${PYTHON:-python3}

say() { printf '%s\n' "$*" >&2; }
die() { say "$*"; exit 1; }

if ! "$venv/bin/python" -c 'import pip, sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
    command -v "$python" >/dev/null 2>&1 || die "Python 3.11 or newer is needed, and there is no $python here."
    "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
        die "Python 3.11 or newer is needed; $python is $("$python" -V 2>&1). Name another one: PYTHON=python3.12 $0"
    "$python" -c 'import ensurepip, venv' 2>/dev/null ||
        die "Python's venv module is missing. On Debian or Ubuntu: apt-get install python3-venv"
    say "Making $venv"
    "$python" -m venv --clear "$venv"
fi

stamp=$venv/godex${extra:+-$extra}.installed
wanted=$(cat "$root/setup.cfg" "$root/setup.py" | cksum)
if [ ! -x "$venv/bin/godex" ] || [ "$(cat "$stamp" 2>/dev/null)" != "$wanted" ]; then
    say "Installing GodeX${extra:+ with what its extra '$extra' needs} into $venv (a minute or two, once)"
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --use-pep517 \
        --editable "$root${extra:+[$extra]}" >&2
    printf '%s\n' "$wanted" >"$stamp"
fi
