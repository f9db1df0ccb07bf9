"""What the demo model says: the first rule whose pattern is in the user's words answers."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from providers.demo.conversation import Conversation

STORY = (
    "Once upon a time a request arrived at a gateway that spoke two languages. It was planned, translated and sent on. "
    "Far upstream a model thought about it, word by word, and each word came back over the same small bridge. "
    "When the last one had crossed, the gateway wrote the whole tale down, so that anybody could go on from there."
)
_SUM = re.compile(r"(-?\d{1,9}(?:\.\d{1,9})?)\s*([-+*/x×÷])\s*(-?\d{1,9}(?:\.\d{1,9})?)")


LONGEST_LOOK = 2000  # characters of a message that the rules look at: some of them are slow on long ones


@dataclass(frozen=True, slots=True)
class Rule:
    """about: what the model says that it recognised, when it shows its reasoning."""

    about: str
    pattern: re.Pattern[str]
    answer: Callable[[Conversation, re.Match[str]], str]


def reply(talk: Conversation) -> tuple[str, str]:
    """(what was recognised, the answer) for the user's last words."""
    if talk.images:
        count = "an image" if talk.images == 1 else f"{talk.images} images"
        return "pictures", f"I received {count}, but I am a rule-based demo and cannot look at pictures."
    for rule in RULES:
        match = rule.pattern.search(talk.now[:LONGEST_LOOK])
        if match:
            return rule.about, rule.answer(talk, match)
    return "nothing that a rule fits", _default(talk)


def _my_name(talk: Conversation, match: re.Match[str]) -> str:
    name = talk.name()
    return f"Your name is {name}." if name else "You have not told me your name yet."


def _nice_to_meet(talk: Conversation, match: re.Match[str]) -> str:
    return f"Nice to meet you, {talk.name()}. I will remember your name in this conversation."


def _said_first(talk: Conversation, match: re.Match[str]) -> str:
    return f"The first thing you said was: “{talk.before[0]}”" if talk.before else "This is the first thing you said."


def _said_before(talk: Conversation, match: re.Match[str]) -> str:
    return f"Before that you said: “{talk.before[-1]}”" if talk.before else "You said nothing before that."


def _my_thing(talk: Conversation, match: re.Match[str]) -> str:
    thing = match.group("thing")
    value = talk.fact(thing)
    return f"You told me: your {thing} is {value}." if value else f"You have not told me what your {thing} is."


def _sum(talk: Conversation, match: re.Match[str]) -> str:
    left, sign, right = float(match.group(1)), match.group(2), float(match.group(3))
    if sign in "/÷" and right == 0:
        return "A number cannot be divided by zero."
    results = {"+": left + right, "-": left - right}
    value = results.get(sign, left * right) if sign not in "/÷" else left / right
    return f"{match.group(0)} = {value:.12g}"


def _count(talk: Conversation, match: re.Match[str]) -> str:
    return ", ".join(str(number) for number in range(1, min(int(match.group(1)), 200) + 1))


def _repeat(talk: Conversation, match: re.Match[str]) -> str:
    return match.group(1)


def _default(talk: Conversation) -> str:
    if not talk.now:
        return "There is no message of a user in this request."
    return (
        f"You said: “{talk.now}”. I am GodeX's built-in demo model: a few rules and no network. I remember this "
        "conversation, do small sums, call your tools when your words fit one, and fill JSON schemas."
    )


def _rule(about: str, pattern: str, answer: Callable[[Conversation, re.Match[str]], str] | str) -> Rule:
    fixed = answer
    if isinstance(fixed, str):
        return Rule(about, re.compile(pattern, re.IGNORECASE), lambda talk, match: fixed)
    return Rule(about, re.compile(pattern, re.IGNORECASE), fixed)


RULES = (
    _rule("a question for the first message", r"\b(what|which)\b.*\bI (say|ask|write|tell).*\bfirst\b", _said_first),
    _rule("a question for the first message", r"\bwhat was (the|my) first\b|我.*(最开始|第一).*(说|问)", _said_first),
    _rule("a question for earlier words", r"\bwhat (did|have) I (just )?(say|ask|said|asked|write)", _said_before),
    _rule("a question for the name", r"\b(what('s| is| was) my name|who am I)\b|我叫什么|我的名字是什么", _my_name),
    _rule("a question for a fact", r"\bwhat('s| is| was) (my|the) (?P<thing>[a-z ]{2,40}?)\s*[?.!]*$", _my_thing),
    _rule("an introduction", r"\b(my name is|(i am|i'm) called|call me)\b|我叫|我的名字是", _nice_to_meet),
    _rule("a sum", _SUM.pattern, _sum),
    _rule("counting", r"\bcount (?:up )?to (\d{1,6})\b", _count),
    _rule("words to repeat", r"\b(?:repeat(?: after me)?|say)\b\s*:?\s*[\"“']?(.+?)[\"”']?\s*$", _repeat),
    _rule("a wish for a story", r"\b(story|tale|poem)\b|故事", STORY),
    _rule("a greeting", r"^\s*(hi|hello|hey|good (morning|evening)|你好|您好)\b", "Hello! How can I help you today?"),
    _rule("thanks", r"\bthank(s| you)\b|谢谢", "You are welcome."),
)
