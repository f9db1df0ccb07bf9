"""`python -m app.cli` from a checkout is the same as `godex` from an installed copy."""

from . import main

main(prog_name="godex")
