"""/v1/conversations, and `conversation` in create calls."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from openai.types.conversations import Conversation, ConversationDeletedResource, ConversationItem, ConversationItemList
from pydantic import TypeAdapter

from tests.support.client import check_error
from tests.support.fake_upstream import answer, chunk, sse
from tests.support.redis_server import RedisServer

RUN = {"type": "function", "name": "run", "parameters": {"type": "object", "properties": {}}}
SDK_ITEM = TypeAdapter(ConversationItem)


class Conversations:
    """Calls of the API by one key; every answer is checked against the SDK's models."""

    def __init__(self, gateway, key="key-a"):
        self.client = gateway.client
        self.headers = {"Authorization": f"Bearer {key}"}

    def ask(self, method, path="", **options):
        return self.client.open(f"/v1/conversations{path}", method=method, headers=self.headers, **options)

    def create(self, **body):
        return self.checked(Conversation, self.ask("POST", json=body))

    def get(self, one):
        return self.checked(Conversation, self.ask("GET", f"/{one}"))

    def add(self, one, *items):
        return self.listed(self.ask("POST", f"/{one}/items", json={"items": items}))

    def items(self, one, query="order=asc&limit=100"):
        return self.listed(self.ask("GET", f"/{one}/items?{query}"))

    def texts(self, one):
        """(role, text) of messages, the type of other items."""
        return [
            (item["role"], item["content"][0]["text"]) if item["type"] == "message" else item["type"]
            for item in self.items(one)["data"]
        ]

    @staticmethod
    def checked(model, reply):
        assert reply.status_code == 200, reply.get_data(as_text=True)
        model.model_validate(reply.get_json())
        return reply.get_json()

    def listed(self, reply):
        listed = self.checked(ConversationItemList, reply)
        for item in listed["data"]:
            SDK_ITEM.validate_python(item)
        ids = [item["id"] for item in listed["data"]]
        assert (listed["first_id"], listed["last_id"]) == ((ids[0], ids[-1]) if ids else ("", ""))
        return listed


@pytest.fixture
def talks(gateway):
    return Conversations(gateway)


def user(text, **fields):
    return {"type": "message", "role": "user", "content": text, **fields}


def sent(upstream, number=-1):
    return [(message["role"], message["content"]) for message in upstream.requests[number].body["messages"]]


# ------------------------------------------------------------------------------------------------------- conversations


def test_a_conversation_is_made_shown_relabelled_and_deleted(talks):
    made = talks.create(metadata={"topic": "demo"})
    assert made["object"] == "conversation" and made["metadata"] == {"topic": "demo"}
    assert made["id"].startswith("conv_") and len(made["id"]) == 53
    assert talks.get(made["id"]) == made
    changed = talks.ask("POST", f"/{made['id']}", json={"metadata": {"topic": "other"}}).get_json()
    assert changed == {**made, "metadata": {"topic": "other"}} == talks.get(made["id"])
    assert talks.ask("POST", f"/{made['id']}", json={"metadata": None}).get_json()["metadata"] == {}
    gone = talks.checked(ConversationDeletedResource, talks.ask("DELETE", f"/{made['id']}"))
    assert gone == {"id": made["id"], "object": "conversation.deleted", "deleted": True}
    for method in ("GET", "DELETE"):
        assert check_error(talks.ask(method, f"/{made['id']}"), 404)["godex_code"] == "server.conversation.not_found"


def test_a_conversation_needs_no_body(talks):
    made = talks.checked(Conversation, talks.ask("POST"))
    assert made["metadata"] == {} and talks.items(made["id"])["data"] == []


ITEMS = [
    user("hello"),
    {"role": "assistant", "content": "hi"},
    {"type": "function_call", "call_id": "call_1", "name": "run", "arguments": "{}"},
    {"type": "function_call_output", "call_id": "call_1", "output": "42"},
    {"type": "reasoning", "summary": [{"type": "summary_text", "text": "why"}]},
    {"type": "custom_tool_call", "call_id": "call_2", "name": "x", "input": "y"},
    {"type": "custom_tool_call_output", "call_id": "call_2", "output": "z"},
]


def test_items_come_back_whole_and_in_order(talks):
    one = talks.create(items=ITEMS[:3])["id"]
    added = talks.add(one, *ITEMS[3:])
    assert added["has_more"] is False and [item["type"] for item in added["data"]] == [i["type"] for i in ITEMS[3:]]
    listed = talks.items(one)["data"]
    assert [item["type"] for item in listed] == [item.get("type", "message") for item in ITEMS]
    assert len({item["id"] for item in listed}) == len(ITEMS)
    assert listed[0]["content"] == [{"type": "input_text", "text": "hello"}]
    assert listed[1]["content"] == [{"type": "output_text", "text": "hi", "annotations": []}]
    for item in listed:
        assert talks.ask("GET", f"/{one}/items/{item['id']}").get_json() == item


def test_items_are_paged_newest_first(talks):
    one = talks.create(items=[user(str(number)) for number in range(20)])["id"]
    talks.add(one, *[user(str(number)) for number in range(20, 30)])
    first = talks.items(one, "")
    assert [item["content"][0]["text"] for item in first["data"]] == [str(n) for n in range(29, 9, -1)]
    assert first["has_more"]
    rest = talks.items(one, f"after={first['last_id']}")
    assert [item["content"][0]["text"] for item in rest["data"]] == [str(n) for n in range(9, -1, -1)]
    assert not rest["has_more"]


def test_the_ids_of_a_client_are_not_taken_over(talks):
    one = talks.create(items=[user("a", id="msg_1"), user("b", id="msg_1")])["id"]
    talks.add(one, user("c", id="msg_1"))
    ids = [item["id"] for item in talks.items(one)["data"]]
    assert len(set(ids)) == 3 and "msg_1" not in ids


def test_an_item_is_deleted_and_the_rest_stays(talks):
    made = talks.create(items=[user("a"), user("b"), user("c")])
    one = made["id"]
    item = talks.items(one)["data"][1]["id"]
    assert talks.checked(Conversation, talks.ask("DELETE", f"/{one}/items/{item}")) == made
    assert talks.texts(one) == [("user", "a"), ("user", "c")]
    for method in ("GET", "DELETE"):
        error = check_error(talks.ask(method, f"/{one}/items/{item}"), 404)
        assert error["godex_code"] == "server.conversation.item_not_found"


WRONG = [
    ("", {"items": "x"}, "items"),
    ("", {"items": [5]}, "items[0]"),
    ("", {"items": [{"role": "nobody", "content": "x"}]}, "items[0].role"),
    ("", {"items": [{"type": "function_call"}]}, "items[0].name"),
    ("", {"items": [user("x")] * 21}, "items"),
    ("", {"items": [{"type": "item_reference", "id": "msg_x"}]}, "items[0].id"),
    ("", {"metadata": []}, "metadata"),
    ("", {"metadata": {"a": 5}}, "metadata.a"),
    ("", {"metadata": {"a": "x" * 513}}, "metadata.a"),
    ("", {"metadata": {str(n): "x" for n in range(17)}}, "metadata"),
    ("/ID", {}, "metadata"),
    ("/ID", {"metadata": "x"}, "metadata"),
    ("/ID/items", {}, "items"),
    ("/ID/items", {"items": None}, "items"),
    ("/ID/items", {"items": []}, "items"),
    ("/ID/items", {"items": [user("x")] * 21}, "items"),
]


@pytest.mark.parametrize(("path", "body", "param"), WRONG)
def test_what_is_wrong_is_named(talks, path, body, param):
    one = talks.create()["id"]
    assert check_error(talks.ask("POST", path.replace("ID", one), json=body), 400)["param"] == param
    assert talks.items(one)["data"] == []


@pytest.mark.parametrize("query", ["limit=0", "limit=101", "limit=x", "order=up", "after=msg_nothing"])
def test_wrong_pages_are_named(talks, query):
    one = talks.create(items=[user("x")])["id"]
    error = check_error(talks.ask("GET", f"/{one}/items?{query}"), 400)
    assert error["param"] == query.partition("=")[0]


def test_another_key_sees_nothing_and_changes_nothing(make_gateway, upstream):
    gateway = make_gateway(auth={"keys": ["key-a", "key-b"]})
    mine, theirs = Conversations(gateway), Conversations(gateway, "key-b")
    made = mine.create(items=[user("secret")])
    one, item = made["id"], mine.items(made["id"])["data"][0]["id"]
    calls = [
        ("GET", f"/{one}", None),
        ("POST", f"/{one}", {"metadata": {"a": "b"}}),
        ("DELETE", f"/{one}", None),
        ("GET", f"/{one}/items", None),
        ("POST", f"/{one}/items", {"items": [user("x")]}),
        ("GET", f"/{one}/items/{item}", None),
        ("DELETE", f"/{one}/items/{item}", None),
    ]
    for method, path, body in calls:
        assert "secret" not in str(check_error(theirs.ask(method, path, json=body), 404))
    reply = gateway.post({"model": "m", "input": "x", "conversation": one}, headers=theirs.headers)
    assert check_error(reply, 404)["param"] == "conversation"
    assert mine.get(one) == made and mine.texts(one) == [("user", "secret")]
    assert upstream.requests == []


# ------------------------------------------------------------------------------------------ responses in a conversation


@pytest.fixture(params=["memory", "sqlite", "redis"])
def kept(request, make_gateway, tmp_path):
    """A gateway on each kind of store."""
    session = {"backend": request.param, "sqlite": {"path": str(tmp_path / "s.db")}}
    if request.param != "redis":
        yield make_gateway(session=session)
        return
    with RedisServer() as server:
        yield make_gateway(session={**session, "redis": {"url": server.url}})


@pytest.mark.parametrize("stream", [False, True])
def test_turns_read_the_conversation_and_add_to_it(kept, upstream, stream):
    talks = Conversations(kept)
    upstream.script("m", answer("one", reasoning="hm"), answer("two"))
    one = talks.create(items=[user("before")])["id"]

    def ask(**fields):
        return kept.stream(**fields).response if stream else kept.create(**fields)

    first = ask(input="a", conversation=one, instructions="Be brief.")
    assert first["conversation"] == {"id": one} and first["previous_response_id"] is None
    second = ask(input=[user("b")], conversation={"id": one}, instructions="Be brief.")
    assert sent(upstream) == [
        ("system", "Be brief."), ("user", "before"), ("user", "a"), ("assistant", "one"), ("user", "b"),
    ]  # fmt: skip
    assert talks.texts(one) == [
        ("user", "before"), ("user", "a"), "reasoning", ("assistant", "one"), ("user", "b"), ("assistant", "two"),
    ]  # fmt: skip
    listed = {item["id"] for item in talks.items(one)["data"]}
    assert {item["id"] for made in (first, second) for item in made["output"]} <= listed
    assert kept.client.get(f"/v1/responses/{second['id']}").get_json() == second
    inputs = kept.client.get(f"/v1/responses/{second['id']}/input_items?order=asc").get_json()["data"]
    assert inputs == talks.items(one)["data"][:-1]


def test_a_tool_loop_in_a_conversation(kept, upstream):
    talks = Conversations(kept)
    upstream.script("m", answer(calls=(("call_1", "run", '{"q":"1"}'),)), answer("done"))
    one = talks.create()["id"]
    first = kept.create(input="go", tools=[RUN], conversation=one)
    output = {"type": "function_call_output", "call_id": first["output"][0]["call_id"], "output": "42"}
    kept.create(input=[output], tools=[RUN], conversation=one)
    assert [role for role, _ in sent(upstream)] == ["user", "assistant", "tool"]
    assert talks.texts(one) == [("user", "go"), "function_call", "function_call_output", ("assistant", "done")]


def test_the_turn_is_there_when_the_terminal_event_goes_out(gateway, talks):
    one = talks.create()["id"]
    reply = gateway.client.post("/v1/responses", json={"model": "m", "input": "a", "stream": True, "conversation": one})
    for piece in reply.response:
        if b"event: response.completed" in piece:
            break
    assert [role for role, _ in talks.texts(one)] == ["user", "assistant"]
    reply.close()


def test_the_items_of_a_conversation_may_be_all_the_input(gateway, talks, upstream):
    gateway.create(input=None, conversation=talks.create(items=[user("a")])["id"])
    assert sent(upstream) == [("user", "a")]


@pytest.mark.parametrize(
    "reply", [sse(chunk(content="half"), cut_after=1), answer("par", finish="length")], ids=["failed", "incomplete"]
)
def test_what_did_not_complete_adds_nothing(gateway, talks, upstream, reply):
    upstream.script("m", reply)
    one = talks.create()["id"]
    gateway.stream(input="a", conversation=one)
    assert talks.items(one)["data"] == []


def test_incomplete_turns_count_where_chains_may_go_on_from_them(make_gateway, upstream):
    gateway = make_gateway(session={"backend": "memory", "include_incomplete": True})
    talks = Conversations(gateway)
    upstream.script("m", answer("par", finish="length"))
    one = talks.create()["id"]
    gateway.create(input="a", conversation=one)
    assert talks.texts(one) == [("user", "a"), ("assistant", "par")]


def test_store_false_reads_but_leaves_nothing(gateway, talks, upstream):
    one = talks.create(items=[user("before")])["id"]
    reply = gateway.post(input="a", conversation=one, store=False, headers={"x-godex-diagnostics": "1"})
    assert sent(upstream) == [("user", "before"), ("user", "a")]
    assert talks.texts(one) == [("user", "before")]
    notes = reply.get_json()["godex"]["diagnostics"]
    assert [note["subject"] for note in notes] == ["conversation"]


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("named", ["conv_" + "0" * 48, "conv_x", "", {"id": "nothing"}, "😀" * 100, "conv_\u0000"])
def test_an_unknown_conversation_is_refused_before_the_upstream_is_asked(gateway, upstream, named, stream):
    error = gateway.refused(404, conversation=named, stream=stream)
    assert error["godex_code"] == "server.conversation.not_found" and error["param"] == "conversation"
    assert upstream.requests == []


@pytest.mark.parametrize("named", [5, [], {}, {"id": 5}, {"id": None}])
def test_a_conversation_that_is_none_is_refused(gateway, named):
    assert gateway.refused(400, conversation=named)["param"].startswith("conversation")


def test_a_conversation_excludes_a_previous_response(gateway, talks, upstream):
    first = gateway.create()
    asked = len(upstream.requests)
    error = gateway.refused(400, conversation=talks.create()["id"], previous_response_id=first["id"])
    assert error["param"] == "previous_response_id" and "conversation" in error["message"]
    assert len(upstream.requests) == asked


def test_a_chain_goes_on_from_a_turn_of_a_conversation(gateway, talks, upstream):
    one = talks.create(items=[user("before")])["id"]
    first = gateway.create(input="a", conversation=one)
    gateway.create(input="later", conversation=one)
    second = gateway.create(input="b", previous_response_id=first["id"])
    assert [text for role, text in sent(upstream) if role == "user"] == ["before", "a", "b"]
    assert "conversation" not in second
    gateway.create(input="c", previous_response_id=second["id"])
    assert [text for role, text in sent(upstream) if role == "user"] == ["before", "a", "b", "c"]
    listed = gateway.client.get(f"/v1/responses/{second['id']}/input_items?order=asc").get_json()["data"]
    assert [item["content"][0]["text"] for item in listed if item["role"] == "user"] == ["before", "a", "b"]
    talks.ask("DELETE", f"/{one}")
    error = gateway.refused(400, previous_response_id=second["id"])
    assert error["code"] == "previous_response_not_found"
    listed = gateway.client.get(f"/v1/responses/{second['id']}/input_items?order=asc").get_json()["data"]
    assert [item["content"][0]["text"] for item in listed if item["role"] == "user"] == ["a", "b"]


def test_responses_at_once_leave_every_turn_whole(kept, upstream):
    talks = Conversations(kept)
    one = talks.create()["id"]
    with ThreadPoolExecutor(6) as pool:
        made = list(pool.map(lambda n: kept.create(input=f"turn {n}", conversation=one), range(12)))
    texts = talks.texts(one)
    assert [role for role, _ in texts] == ["user", "assistant"] * 12
    assert {text for role, text in texts if role == "user"} == {f"turn {n}" for n in range(12)}
    order = {item["id"]: place for place, item in enumerate(talks.items(one)["data"])}
    for response in made:
        place = order[response["output"][0]["id"]]
        own = kept.client.get(f"/v1/responses/{response['id']}").get_json()
        assert talks.items(one)["data"][place] == own["output"][0]


def test_a_conversation_deleted_in_mid_answer_does_not_fail_the_answer(gateway, talks, upstream):
    upstream.script("m", sse(chunk(content="a"), chunk(content="b"), chunk(finish="stop"), pause=0.3))
    one = talks.create()["id"]
    reply = gateway.client.post("/v1/responses", json={"model": "m", "input": "a", "stream": True, "conversation": one})
    pieces = iter(reply.response)
    next(pieces)
    talks.ask("DELETE", f"/{one}")
    assert b"response.completed" in b"".join(pieces)
    check_error(talks.ask("GET", f"/{one}"), 404)


def test_a_store_that_is_away_is_said_to_be(make_gateway, upstream):
    gateway = make_gateway(session={"backend": "redis", "redis": {"url": "redis://127.0.0.1:9/0"}})
    talks = Conversations(gateway)
    one = "conv_" + "0" * 48
    for reply in (talks.ask("POST", json={}), talks.ask("GET", f"/{one}"), talks.ask("GET", f"/{one}/items")):
        assert check_error(reply, 503)["godex_code"] == "session.store.unavailable"
        assert reply.headers["Retry-After"]
    assert gateway.refused(503, conversation=one)["godex_code"] == "session.store.unavailable"
    assert upstream.requests == []


def test_a_compaction_stands_for_what_was_before_it(gateway, talks, upstream):
    upstream.script("m", answer("one"), answer("SUMMARY"), answer("three"))
    one = talks.create(items=[user("before")])["id"]
    gateway.create(input="a", conversation=one)
    gateway.create(input=[{"type": "compaction_trigger"}], conversation=one)
    gateway.create(input="b", conversation=one)
    messages = sent(upstream)
    assert len(messages) == 2 and "SUMMARY" in messages[0][1] and messages[1] == ("user", "b")
    assert [role for role, _ in talks.texts(one)[:3]] == ["user", "user", "assistant"]
    assert len(talks.items(one)["data"]) == 6
