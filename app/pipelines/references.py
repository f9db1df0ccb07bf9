"""item_reference items → the items that they name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ..sessions.ids import response_of_item
from ..sessions.items import listed_items
from ..sessions.session import Item, StoredResponseSession
from ..sessions.store import SessionStore

REFERENCE = "item_reference"


def resolved(
    items: list[Item],
    history: Iterable[Item],
    store: SessionStore,
    owner: str,
    known: Mapping[str, StoredResponseSession],
) -> list[Item]:
    """The items with references replaced, from the history, from `known` responses, or from stored ones.

    An item's id tells its response, so that all that are not at hand take one look into the store. What is found
    nowhere stays a reference: the kernel refuses it and says where it stands.

    Raises SessionError STORE_UNAVAILABLE.
    """
    wanted = [item["id"] for item in items if is_reference(item)]
    if not wanted:
        return items
    found = {item["id"]: item for item in history if item.get("id")}
    makers = {maker for item_id in wanted if item_id not in found and (maker := response_of_item(item_id))}
    turns = {maker: known[maker] for maker in makers if maker in known}
    if makers - turns.keys():
        turns |= store.get_many(makers - turns.keys(), owner)
    for turn in turns.values():
        found |= {item["id"]: item for item in (*listed_items(turn), *turn.response["output"]) if item.get("id")}
    return [_replaced(item, found) for item in items]


def is_reference(item: Item) -> bool:
    """The type may be missing: nothing else has an id and neither type nor role."""
    kind = item.get("type")
    return kind == REFERENCE or (kind is None and "role" not in item and isinstance(item.get("id"), str))


def _replaced(item: Item, found: Mapping[str, Item]) -> Item:
    if not is_reference(item):
        return item
    return found.get(item["id"], {"type": REFERENCE, "id": item["id"]})
