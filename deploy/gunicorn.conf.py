"""For `gunicorn -c deploy/gunicorn.conf.py wsgi:app` in a checkout: the same settings as `godex serve`.

The configuration is looked for as always ($GODEX_CONFIG, ./godex.yaml, …). gunicorn's own options win over it
(`-b 0.0.0.0:80 -w 8`). Each worker reads the file for itself, so check it before a HUP (`godex config check`): a faulty
one stops the service. `godex serve` refuses it and goes on.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from app.config.loader import load_config  # noqa: E402
from app.server import gunicorn_settings  # noqa: E402
from bridge.errors import GodeXError  # noqa: E402

try:
    globals().update(gunicorn_settings(load_config()))
except GodeXError as error:
    sys.exit(f"godex: {error.message}")
