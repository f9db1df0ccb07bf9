"""What is decided about each parameter."""

from __future__ import annotations

import pytest

from bridge.errors import BridgeError
from bridge.plan.compatibility import PARAMETERS, plan_compatibility
from bridge.plan.diagnostics import Diagnostics, compat_header
from bridge.plan.reasoning import plan_reasoning
from bridge.spec import Capabilities

ALL = Capabilities(parameters=frozenset(PARAMETERS) | {"verbosity"}, effort="native")
NONE = Capabilities(parameters=frozenset())

DECISIONS = [
    ("temperature", 0.5, {"temperature": 0.5}, "ignored"),
    ("top_p", 0.5, {"top_p": 0.5}, "ignored"),
    ("presence_penalty", 0.5, {"presence_penalty": 0.5}, "ignored"),
    ("frequency_penalty", 0, {"frequency_penalty": 0}, None),
    ("max_output_tokens", 100, {"max_tokens": 100}, "ignored"),
    ("top_logprobs", 3, {"top_logprobs": 3, "logprobs": True}, "ignored"),
    ("top_logprobs", 0, {"top_logprobs": 0, "logprobs": True}, None),
    ("service_tier", "auto", {"service_tier": "auto"}, None),
    ("service_tier", "flex", {"service_tier": "flex"}, "ignored"),
    ("prompt_cache_key", "k", {"prompt_cache_key": "k"}, "ignored"),
    ("user", "u", {"user": "u"}, "ignored"),
    ("safety_identifier", "s", {"safety_identifier": "s"}, "ignored"),
    ("include", ["message.output_text.logprobs"], {"logprobs": True}, "ignored"),
    ("include", ["reasoning.encrypted_content"], {}, None),
    ("include", ["file_search_call.results"], {}, "ignored"),
    ("parallel_tool_calls", False, {}, "degraded"),
    ("store", False, {}, None),
    ("metadata", {"a": "b"}, {}, None),
    ("stream_options", {"include_obfuscation": True}, {}, None),
    ("max_tool_calls", 3, {}, None),
    ("client_metadata", {"a": "b"}, {}, "ignored"),
    ("brand_new", 1, {}, "ignored"),
    ("background", False, {}, None),
]


@pytest.mark.parametrize(("name", "value", "sent", "without"), DECISIONS)
def test_each_parameter_with_and_without_upstream_support(name, value, sent, without):
    notes = Diagnostics()
    assert plan_compatibility({name: value}, ALL, notes).options == sent
    notes = Diagnostics()
    plan = plan_compatibility({name: value}, NONE, notes)
    assert plan.options == {}
    assert [note.action for note in notes.entries] == ([without] if without else [])


@pytest.mark.parametrize("name", ["background", "prompt", "moderation"])
def test_what_would_change_the_answers_meaning_is_refused(name):
    with pytest.raises(BridgeError) as refused:
        plan_compatibility({name: True if name == "background" else {"id": "x"}}, ALL, Diagnostics())
    assert refused.value.param == name and refused.value.client_code == "unsupported_parameter"


@pytest.mark.parametrize("name", PARAMETERS)
def test_null_counts_as_absent_for_every_parameter(name):
    notes = Diagnostics(strict=True)
    assert plan_compatibility({name: None}, NONE, notes).options == {}
    assert notes.entries == []


def test_values_outside_the_models_range_are_clamped():
    caps = Capabilities(temperature_range=(0.01, 1.0), top_p_range=(0.01, 1.0), max_output_tokens_cap=50)
    notes = Diagnostics()
    plan = plan_compatibility({"temperature": 1.5, "top_p": 0, "max_output_tokens": 99}, caps, notes)
    assert plan.options == {"max_tokens": 50, "temperature": 1.0, "top_p": 0.01}
    assert [note.action for note in notes.entries] == ["degraded"] * 3


def test_what_thinking_forbids_is_left_out_while_thinking():
    caps = Capabilities(thinking_by_default=True, parameters_refused_while_thinking=frozenset({"temperature"}))
    assert plan_compatibility({"temperature": 0.5}, caps, Diagnostics()).options == {}


def test_the_token_limit_has_the_upstreams_name():
    caps = Capabilities(token_limit_field="max_completion_tokens")
    assert plan_compatibility({"max_output_tokens": 9}, caps, Diagnostics()).options == {"max_completion_tokens": 9}


LOW_HIGH_MAX = Capabilities(effort="native", efforts=("none", "low", "high", "max"), effort_map={"medium": "high"})
THREE = Capabilities(effort="native")
OWN_WORDS = Capabilities(effort="native", efforts=("fast", "deep"))
ONLY_OFF = Capabilities(effort="native", efforts=("none",))
EFFORTS = [
    (THREE, "low", "low"), (THREE, "minimal", "low"), (THREE, "none", "low"), (THREE, "xhigh", "high"),
    (THREE, "max", "high"), (THREE, "ultra", "high"), (THREE, "nonsense", None),
    (LOW_HIGH_MAX, "none", "none"), (LOW_HIGH_MAX, "minimal", "low"), (LOW_HIGH_MAX, "medium", "high"),
    (LOW_HIGH_MAX, "xhigh", "max"), (LOW_HIGH_MAX, "ultra", "max"),
    (OWN_WORDS, "deep", "deep"), (OWN_WORDS, "low", None), (ONLY_OFF, "none", "none"), (ONLY_OFF, "high", None),
]  # fmt: skip


@pytest.mark.parametrize(("caps", "asked", "sent"), EFFORTS)
def test_efforts_go_to_the_nearest_level(caps, asked, sent):
    assert plan_reasoning({"effort": asked}, caps, Diagnostics()).effort == sent


@pytest.mark.parametrize(("asked", "on"), [("none", False), ("minimal", True), ("high", True)])
def test_a_boolean_model_is_switched(asked, on):
    plan = plan_compatibility({"reasoning": {"effort": asked}}, Capabilities(effort="boolean"), Diagnostics())
    assert plan.options == {"thinking": {"type": "enabled" if on else "disabled"}}
    assert plan.reasoning.thinking is on


def test_no_effort_leaves_the_models_default():
    for reasoning in (None, {}, {"summary": "auto"}, {"effort": None}):
        assert plan_reasoning(
            reasoning, Capabilities(effort="native", thinking_by_default=True), Diagnostics()
        ).thinking


def test_the_header_counts_by_action():
    notes = Diagnostics()
    assert compat_header(notes.entries) == "full"
    notes.ignored("a", "x")
    notes.degraded("b", "x")
    notes.ignored("c", "x")
    assert compat_header(notes.entries) == "degraded=1, ignored=2"


def test_strict_mode_refuses_deviations_and_keeps_notes():
    notes = Diagnostics(strict=True)
    notes.ignored("hint", "x", "info")
    with pytest.raises(BridgeError) as refused:
        notes.degraded("tools[0]", "x")
    assert refused.value.param == "tools[0]"
