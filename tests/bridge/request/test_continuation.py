"""Outputs in a request that continues a stored response."""

from __future__ import annotations

import pytest

from bridge.errors import INVALID_REQUEST, BridgeError
from bridge.request.continuation import check_outputs

ASKED = {"role": "user", "content": "go"}


def item(kind, **fields):
    return {"type": kind, **fields}


FITTING = {
    "a call of the history": ([item("function_call", call_id="a")], [item("function_call_output", call_id="a")]),
    "a call of the input": ([], [item("function_call", call_id="a"), item("function_call_output", call_id="a")]),
    "an output before its call": ([], [item("shell_call_output", call_id="a"), item("shell_call", call_id="a")]),
    "a second output": (
        [item("custom_tool_call", call_id="a"), item("custom_tool_call_output", call_id="a")],
        [item("custom_tool_call_output", call_id="a")],
    ),
    "a local shell's item id": ([item("local_shell_call", id="l")], [item("local_shell_call_output", id="l")]),
    "no output at all": ([item("function_call", call_id="a")], [ASKED]),
    "an orphan of the history": ([item("function_call_output", call_id="x")], [ASKED]),
    "a search that the server ran": ([], [item("tool_search_output", call_id=None)]),
}


@pytest.mark.parametrize(("history", "own"), FITTING.values(), ids=FITTING)
def test_outputs_of_known_calls_are_taken(history, own):
    check_outputs([*history, *own], len(history))


STRAY = {
    "an unknown call": ([item("function_call", call_id="a")], [ASKED, item("function_call_output", call_id="b")]),
    "no call at all": ([ASKED], [ASKED, item("apply_patch_call_output", call_id="b")]),
    "an item's id in place of the call's": (
        [item("function_call", call_id="a", id="fc_1")],
        [ASKED, item("function_call_output", call_id="fc_1")],
    ),
}


@pytest.mark.parametrize(("history", "own"), STRAY.values(), ids=STRAY)
def test_an_output_without_its_call_is_refused_by_name(history, own):
    with pytest.raises(BridgeError) as refused:
        check_outputs([*history, *own], len(history))
    assert refused.value.code == INVALID_REQUEST
    assert refused.value.param == "input[1].call_id"
