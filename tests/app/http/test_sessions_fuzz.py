"""Whatever a client sends for ids, cursors and conversations: 400 or 404, never 500, never another key's data."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app import create_app
from tests.support.fake_upstream import FakeUpstream, answer

SECRET = "what only key a may see"
A, B = {"Authorization": "Bearer key-a"}, {"Authorization": "Bearer key-b"}
FUZZ = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))


class World:
    """A gateway that holds a response and a conversation of key a. ids: of all that there is to find."""

    def __init__(self, upstream: FakeUpstream, session: dict[str, Any]) -> None:
        provider = {
            "spec": "openai_compatible",
            "endpoint": {"base_url": upstream.url},
            "credentials": {"api_key": "k"},
            "retry": {"attempts": 1},
        }
        self.app = create_app(
            {
                "providers": {"up": provider},
                "auth": {"keys": ["key-a", "key-b"]},
                "session": session,
                "trace": {"enabled": False},
            }
        )
        self.client = self.app.test_client()
        self.response = self.post("/v1/responses", {"model": "m", "input": SECRET}, A)
        items = [{"role": "user", "content": SECRET}, {"role": "assistant", "content": SECRET}]
        self.conversation = self.post("/v1/conversations", {"items": items, "metadata": {"a": SECRET}}, A)["id"]
        listed = self.client.get(f"/v1/conversations/{self.conversation}/items", headers=A).get_json()["data"]
        inputs = self.client.get(f"/v1/responses/{self.response['id']}/input_items", headers=A).get_json()["data"]
        self.ids = [
            self.response["id"],
            self.conversation,
            *(item["id"] for item in (*listed, *inputs, *self.response["output"])),
        ]

    def post(self, path: str, body: dict[str, Any], headers: dict[str, str]) -> dict[str, Any]:
        reply = self.client.post(path, json=body, headers=headers)
        assert reply.status_code == 200, reply.get_data(as_text=True)
        made: dict[str, Any] = reply.get_json()
        return made

    def check_unharmed(self) -> None:
        kept = self.client.get(f"/v1/responses/{self.response['id']}", headers=A)
        assert kept.get_json() == self.response
        items = self.client.get(f"/v1/conversations/{self.conversation}/items", headers=A).get_json()["data"]
        assert len(items) == 2
        assert self.client.get(f"/v1/conversations/{self.conversation}", headers=A).get_json()["metadata"] == {
            "a": SECRET
        }


@pytest.fixture(scope="module", params=["memory", "sqlite"])
def world(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    with FakeUpstream() as upstream:
        upstream.default = answer(SECRET)
        path = str(tmp_path_factory.mktemp("fuzz") / "s.db")
        world = World(upstream, {"backend": request.param, "sqlite": {"path": path}})
        yield world
        world.check_unharmed()
        world.app.extensions["godex"].close()


def refused(reply: Any, *also: int) -> None:
    assert reply.status_code in (400, 404, *also), (reply.status_code, reply.get_data(as_text=True)[:300])
    text = reply.get_data(as_text=True)
    assert SECRET not in text
    if reply.status_code >= 400:
        error = json.loads(text)["error"]
        assert error["message"]
        assert len(text) < 2000 or error["godex_code"] == "server.route.not_found", "what is sent is not all echoed"


odd_text = st.one_of(
    st.text(max_size=40),
    st.text(st.sampled_from("{}*?[]\\'\";:%_-. \x00\n\r\t/😀\u2028respcnvmsg0123456789abcdef"), max_size=80),
    st.sampled_from(
        ["..", "a" * 3000, "' OR 1=1 --", "resp_" + "0" * 48, "conv_" + "0" * 48, "msg_" + "f" * 51, "null"]
    ),
)


@st.composite
def near(draw: st.DrawFn, known: list[str]) -> str:
    """A known id, or one that was nearly one."""
    one = draw(st.sampled_from(known))
    change = draw(st.sampled_from(["as it is", "cut", "longer", "one digit", "upper case", "another prefix"]))
    if change == "cut":
        return one[: draw(st.integers(0, len(one)))]
    if change == "longer":
        return one + draw(st.text(max_size=3))
    if change == "one digit":
        place = draw(st.integers(0, len(one) - 1))
        return one[:place] + draw(st.sampled_from("0f{*")) + one[place + 1 :]
    if change == "upper case":
        return one.upper()
    if change == "another prefix":
        return draw(st.sampled_from(["resp_", "conv_", "msg_", ""])) + one.partition("_")[2]
    return one


def segments(path: str, *ids: str) -> str:
    return path.format(*(quote(one, safe="", errors="surrogatepass") for one in ids))


@FUZZ
@given(data=st.data())
def test_ids(world: World, data: st.DataObject) -> None:
    """Key b asks for anything, the ids of key a among it."""
    ids = st.one_of(odd_text, near(world.ids))
    method, path = data.draw(
        st.sampled_from(
            [
                ("GET", "/v1/responses/{}"),
                ("DELETE", "/v1/responses/{}"),
                ("GET", "/v1/responses/{}/input_items"),
                ("POST", "/v1/responses/{}/cancel"),
                ("GET", "/v1/conversations/{}"),
                ("DELETE", "/v1/conversations/{}"),
                ("GET", "/v1/conversations/{}/items"),
                ("GET", "/v1/conversations/{}/items/{}"),
                ("DELETE", "/v1/conversations/{}/items/{}"),
            ]
        )
    )
    url = segments(path, data.draw(ids), data.draw(ids))
    # 405: an empty id leads to the route above, 426: to that of WebSockets, 308: Flask takes a slash away
    refused(world.client.open(url, method=method, headers=B), 405, 426, 308)


@FUZZ
@given(data=st.data())
def test_ids_in_bodies(world: World, data: st.DataObject) -> None:
    one = data.draw(st.one_of(odd_text, near(world.ids)))
    body = data.draw(
        st.sampled_from(
            [
                {"previous_response_id": one},
                {"conversation": one},
                {"conversation": {"id": one}},
                {"input": [{"type": "item_reference", "id": one}]},
                {"input": [{"id": one}]},
            ]
        )
    )
    text = json.dumps({"model": "m", "input": "x", **body})
    refused(world.client.post("/v1/responses", data=text, content_type="application/json", headers=B))


@FUZZ
@given(data=st.data())
def test_cursors(world: World, data: st.DataObject) -> None:
    """Of one's own list: a page, or what was wrong."""
    mine = world.post("/v1/conversations", {"items": [{"role": "user", "content": str(n)} for n in range(5)]}, B)["id"]
    path = f"/v1/conversations/{mine}/items"
    known = [item["id"] for item in world.client.get(path, headers=B).get_json()["data"]]
    value = st.one_of(
        odd_text, near([*known, *world.ids]), st.integers(-3, 200).map(str), st.sampled_from(["asc", "desc"])
    )
    names = st.sampled_from(["after", "before", "limit", "order", "include", "include[]"])
    query = data.draw(st.lists(st.tuples(names, value), max_size=4))
    encoded = "&".join(f"{name}={quote(text, safe='', errors='surrogatepass')}" for name, text in query)
    reply = world.client.get(f"{path}?{encoded}", headers=B)
    refused(reply, 200)
    if reply.status_code == 200:
        page = reply.get_json()
        assert {item["id"] for item in page["data"]} <= set(known)


json_values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-5, 2**70), st.floats(allow_nan=False), st.text(max_size=8)),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(st.text(max_size=8), inner, max_size=4)),
    max_leaves=8,
)
KINDS = [
    "message", "function_call", "function_call_output", "reasoning", "compaction", "item_reference", "custom_tool_call",
    "shell_call", "local_shell_call_output", "apply_patch_call", "tool_search_output", "additional_tools", "mcp_call", "x",
]  # fmt: skip
FIELDS = [
    "id",
    "role",
    "content",
    "call_id",
    "name",
    "arguments",
    "output",
    "summary",
    "encrypted_content",
    "action",
    "status",
    "tools",
    "input",
]
items = st.one_of(
    json_values,
    st.builds(
        lambda kind, role, fields: {"type": kind, "role": role, **fields},
        st.sampled_from([*KINDS, None, 5]),
        st.sampled_from(["user", "assistant", "system", "tool", None]),
        st.dictionaries(st.sampled_from(FIELDS), st.one_of(st.text(max_size=8), json_values), max_size=5),
    ),
)


@FUZZ
@given(data=st.data())
def test_bodies(world: World, data: st.DataObject) -> None:
    """What is taken can be listed, fetched and asked about; what is not is 400."""
    body = data.draw(
        st.one_of(
            json_values,
            st.fixed_dictionaries(
                {}, optional={"items": st.one_of(json_values, st.lists(items, max_size=4)), "metadata": json_values}
            ),
        )
    )
    path = data.draw(st.sampled_from(["/v1/conversations", "/v1/conversations/ID/items", "/v1/conversations/ID"]))
    mine = world.post("/v1/conversations", {}, B)["id"]
    text = json.dumps(body)
    reply = world.client.post(path.replace("ID", mine), data=text, content_type="application/json", headers=B)
    refused(reply, 200)
    if reply.status_code != 200:
        return
    one = reply.get_json()["id"] if path == "/v1/conversations" else mine
    listed = world.client.get(f"/v1/conversations/{one}/items", headers=B).get_json()["data"]
    for item in listed:
        assert world.client.get(f"/v1/conversations/{one}/items/{item['id']}", headers=B).get_json() == item
    asked = {"model": "m", "input": "x", "conversation": one, "store": False}
    answered = world.client.post("/v1/responses", json=asked, headers=B)
    assert answered.status_code in (200, 400), answered.get_data(as_text=True)
