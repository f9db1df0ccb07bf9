"""What import contracts cannot see: the kernel and the edge do not know any provider by name."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from providers.registry import builtin_specs

ROOT = Path(__file__).parent.parent.parent
# Words of the language, or the owner of the API that is served here.
COMMON_WORDS = {"together", "demo", "openai", "openai_compatible", "azure"}
MAKERS = {"glm", "mimo", "kimi", "dashscope", "moonshot"}
NAMES = re.compile(rf"\b({'|'.join(sorted((set(builtin_specs()) - COMMON_WORDS) | MAKERS))})\b", re.IGNORECASE)


@pytest.mark.parametrize("package", ["bridge", "app"])
def test_no_provider_is_named(package):
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in sorted((ROOT / package).rglob("*.py"))
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if NAMES.search(line)
    ]
    assert not found


@pytest.mark.parametrize("package", ["bridge", "app", "providers"])
def test_no_module_is_larger_than_a_reader_can_hold(package):
    sizes = {path: len(path.read_text().splitlines()) for path in (ROOT / package).rglob("*.py")}
    assert {str(path.relative_to(ROOT)): size for path, size in sizes.items() if size > 400} == {}
