"""What Zhipu's wire has beside Chat Completions."""

from __future__ import annotations

from typing import Any, TypedDict


class SearchResult(TypedDict, total=False):
    """One entry of `web_search`, a list beside `choices`."""

    title: str
    link: str
    content: str
    refer: str  # "ref_1": how the text names it
    media: str
    icon: str
    publish_date: str


class Searched(TypedDict, total=False):
    web_search: list[SearchResult]
    choices: list[dict[str, Any]]
