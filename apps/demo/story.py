"""`python -m apps.demo.story`: one lesson from the first message to the second customer, run against live servers."""

import hashlib
import os
import re
import secrets
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from apps.demo.console_browser import approve_draft, follow_link, log_in
from apps.demo.demo_data import AGENT, CUSTOMER_REQUESTS, REVIEWER, CustomerRequest
from apps.demo.http_client import HttpVisitor
from apps.demo.story_steps import (
    Evidence,
    StepFailed,
    StoryStep,
    changed_lines,
    expect,
    play_steps,
    quote_line,
    tool_call_lines,
    usage_summary,
)
from apps.prompt.prompt_input import SEPARATOR, Slot

API: Final = "/api/v1"
REPLY_SECONDS: Final = 30
ACCEPTED: Final = 202
NO_REPLY_HINT: Final = (
    "Is the worker running, and is no switch on that pauses answering? The console shows switches on every page."
)
EXTRACTION_SECONDS: Final = 90
IMMEDIATE_SECONDS: Final = 2.0
Found = TypeVar("Found")


@dataclass(frozen=True, slots=True)
class StoryMessage:
    """One message and its reply."""

    conversation_id: int
    reply: dict[str, Any]


@dataclass(slots=True)
class Story:
    """The people and programs of the story, and its progress."""

    agent: HttpVisitor
    browser: HttpVisitor
    login: str
    password: str
    run: str = field(default_factory=lambda: secrets.token_hex(4))
    matter: CustomerRequest = CUSTOMER_REQUESTS[0]
    first: StoryMessage | None = None
    skill: dict[str, Any] = field(default_factory=dict)

    @property
    def steps(self) -> list[StoryStep]:
        return [
            ("A customer writes, and the agent answers in its persona's voice with a tool call", self.greet),
            ("The next message is answered in the same session, and its prompt is read from the cache", self.go_on),
            ("Resolving the conversation returns at once", self.resolve),
            ("An operator signs in to the console", self.sign_in),
            ("In the background, the conversation is reviewed and one draft skill appears", self.learn),
            ("The agent cannot approve a skill", self.refuse_agent),
            ("The operator approves on the review page", self.approve),
            ("The next conversation's prompt lists the skill, and the agent uses it", self.use),
        ]

    def greet(self) -> Evidence:
        self.matter = _matter_without_skill(self._read_skills())
        [persona] = self._get_results(self.agent, f"personas/?agent_key={AGENT}")
        named = re.search(r"You are (\w+)", persona["identity"])
        expect(named is not None, "The persona's identity does not begin with “You are” and a name.")
        self.first = self._write_message("first", self.matter.first_customer)
        reply_text, name = self.first.reply["text"], named[1] if named else ""
        expect(name in reply_text, f"The reply does not introduce {name}: {quote_line(reply_text)}")
        calls = self._tool_calls(self.first)
        expect(
            _has_worked("update_customer_profile", calls), f"The preference was not recorded. {tool_call_lines(calls)}"
        )
        where = f"conversation {self.first.conversation_id}, turn {self.first.reply['turn_id']}"
        return [
            f"customer: {quote_line(self.matter.first_customer)}",
            f"agent:    {quote_line(reply_text)}",
            *tool_call_lines(calls),
            f"{where}, session {self.first.reply['session_id']}",
            usage_summary(self.first.reply),
        ]

    def go_on(self) -> Evidence:
        message = self._write_message("first", self.matter.closing)
        before, after = (self._read_session(each) for each in (self._first_message, message))
        expect(before["id"] == after["id"], f"A second session was opened: {before['id']}, then {after['id']}.")
        prefix = SEPARATOR.join(part["text"] for part in after["parts"])
        digest = hashlib.sha256(prefix.encode()).hexdigest()
        expect(digest == before["prefix_sha256"], "The prompt's prefix is not the one the session was opened with.")
        expect(
            message.reply["usage"]["cache_read_tokens"] > 0,
            f"Nothing was read from the cache: {usage_summary(message.reply)}",
        )
        return [
            f"agent:    {quote_line(message.reply['text'])}",
            f"prefix sha256 {digest[:16]}…, {len(prefix.encode())} bytes, the same in both turns",
            usage_summary(message.reply),
        ]

    def resolve(self) -> Evidence:
        path = f"{API}/conversations/{self._first_message.conversation_id}/"
        answer = self.agent.send("PATCH", path, {"status": "resolved", "outcome": "solved"})
        expect(answer.status == 200 and answer.json.get("status") == "resolved", answer.refusal)
        expect(answer.seconds < IMMEDIATE_SECONDS, f"It took {answer.seconds:.1f} s.")
        return [f"PATCH {path} answered in {answer.seconds * 1000:.0f} ms, status resolved"]

    def sign_in(self) -> Evidence:
        if self.password:
            return [log_in(self.browser, self.login, self.password)]
        # The operator's own link is printed at the terminal and works once, so the story uses another person's link.
        return [follow_link(self.browser, REVIEWER)]

    def learn(self) -> Evidence:
        started = time.monotonic()
        query = f"extractions/?conversation_id={self._first_message.conversation_id}"
        extraction = _wait_for(
            lambda: next(iter(self._get_results(self.browser, query)), None),
            f"No verdict on conversation {self._first_message.conversation_id} appeared. Is the worker running, and the beat?",
        )
        seconds = time.monotonic() - started
        verdict = f"extraction {extraction['id']}: {extraction['verdict']}. {extraction['reason']} ({seconds:.0f} s)"
        expect(extraction["verdict"] in {"drafted", "supports", "known"}, f"Nothing was learned: {verdict}")
        self.skill = self._skill_of(extraction)
        return [verdict, f"skill {self.skill['id']} {self.skill['name']}, status {self.skill['status']}"]

    def refuse_agent(self) -> Evidence:
        path = f"{API}/skills/{self.skill['id']}/"
        digest = self.skill["content_sha256"]
        moved = self.agent.send("POST", f"{path}transition/", {"to": "approved", "reviewed_sha256": digest})
        expect(moved.status == 403, f"The agent's approval was answered with {moved.status}: {quote_line(moved.text)}")
        patched = self.agent.send("PATCH", path, {"status": "approved"})
        expect(
            patched.json.get("ignored_fields") == ["status"],
            f"The status in the request was not ignored: {quote_line(patched.text)}",
        )
        now = self._get_json(self.browser, f"skills/{self.skill['id']}/")
        expect(now["status"] == self.skill["status"], f"The skill became {now['status']}.")
        return [f"POST transition: {moved.refusal}", f"PATCH status: {patched.refusal}"]

    def approve(self) -> Evidence:
        if self.skill["status"] == "draft":
            approve_draft(self.browser, self.skill["id"], self.login if self.password else REVIEWER)
        now = self._get_json(self.browser, f"skills/{self.skill['id']}/")
        expect(now["status"] == "approved", f"The skill is {now['status']}.")
        expect(now["approved_sha256"] == self.skill["content_sha256"], "Other bytes were approved than were reviewed.")
        already = "an earlier run had it approved already; " if self.skill["status"] == "approved" else ""
        self.skill = now
        return [
            f"{already}approved by {now['approved_by']} at {now['approved_at']}, sha256 {now['approved_sha256'][:16]}…"
        ]

    def use(self) -> Evidence:
        message = self._write_message("second", self.matter.second_customer)
        before, after = (_slot_text(self._read_session(each), Slot.SKILLS) for each in (self._first_message, message))
        line = next((line for line in after.splitlines() if f"(id: {self.skill['id']})" in line), "")
        expect(bool(line), "The new session's prompt does not list the skill.")
        calls = self._tool_calls(message)
        expect(_has_worked("get_skill", calls), f"The agent did not fetch the skill. {tool_call_lines(calls)}")
        counted = self._get_json(self.browser, f"skills/{self.skill['id']}/")["use_count"]
        expected = self.skill["use_count"] + 1
        expect(counted == expected, f"The skill's use count is {counted}, not {expected}.")
        changes = changed_lines(before, after) or [f"(listed since an earlier run) {line}"]
        return [
            *(f"prompt:   {change}" for change in changes),
            f"customer: {quote_line(self.matter.second_customer)}",
            *tool_call_lines(calls),
            f"agent:    {quote_line(message.reply['text'])}",
            f"skill {self.skill['id']} use count {counted}, {usage_summary(message.reply)}",
        ]

    @property
    def _first_message(self) -> StoryMessage:
        if self.first is None:
            raise StepFailed("The first conversation has not begun.")
        return self.first

    def _write_message(self, customer: str, text: str) -> StoryMessage:
        body = {
            "channel": "http",
            "conversation_key": f"story-{self.run}-{customer}",
            "end_user_key": f"http:story-{self.run}-{customer}",
            "sender_name": f"{customer.title()} customer",
            "text": text,
        }
        path = f"{API}/messages/?wait={REPLY_SECONDS}"
        answer = self.agent.send("POST", path, body, Idempotency_Key=secrets.token_hex(8))
        expect(
            answer.status != ACCEPTED,
            f"No reply within {REPLY_SECONDS} s. {NO_REPLY_HINT} The answer: {answer.refusal}",
        )
        expect(answer.status == 200, f"No reply: {answer.refusal}")
        return StoryMessage(answer.json["conversation_id"], answer.json["reply"])

    def _tool_calls(self, message: StoryMessage) -> list[dict[str, Any]]:
        lines = self._get_results(self.agent, f"messages/?conversation_id={message.conversation_id}")
        mine = [line for line in lines if line["turn_id"] == message.reply["turn_id"]]
        return [call for line in mine for call in line["tool_calls"]]

    def _read_session(self, message: StoryMessage) -> dict[str, Any]:
        return self._get_json(self.agent, f"sessions/{message.reply['session_id']}/")

    def _read_skills(self) -> list[dict[str, Any]]:
        return self._get_results(self.agent, "skills/?page_size=100")

    def _skill_of(self, extraction: dict[str, Any]) -> dict[str, Any]:
        """Return the drafted skill, the skill it adds to, or the skill with the same content.

        For a retired skill, only the reason contains its name.
        """
        skill_id = extraction["skill_id"] or next(
            (skill["id"] for skill in self._read_skills() if f" {skill['name']} " in extraction["reason"]), None
        )
        expect(skill_id is not None, f"The skill it speaks of is not there: {extraction['reason']}")
        skill = self._get_json(self.browser, f"skills/{skill_id}/")
        expect(
            skill["status"] != "deprecated",
            f"Skill {skill['name']} was rejected earlier; nothing can be shown with it.",
        )
        return skill

    def _get_json(self, visitor: HttpVisitor, path: str) -> dict[str, Any]:
        answer = visitor.get(f"{API}/{path}")
        expect(answer.status == 200, f"GET {API}/{path}: {answer.refusal}")
        found: dict[str, Any] = answer.json
        return found

    def _get_results(self, visitor: HttpVisitor, path: str) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = self._get_json(visitor, path)["results"]
        return rows


def _matter_without_skill(skills: list[dict[str, Any]]) -> CustomerRequest:
    """Return a request that no skill covers yet; if all are covered, one that a live skill covers."""
    covering = {matter: [skill for skill in skills if _covers(skill, matter)] for matter in CUSTOMER_REQUESTS}
    fresh = [matter for matter in CUSTOMER_REQUESTS if not covering[matter]]
    known = [
        matter for matter in CUSTOMER_REQUESTS if any(skill["status"] != "deprecated" for skill in covering[matter])
    ]
    expect(
        bool(fresh or known),
        "The skill of every request of the demo was rejected or deprecated. Run `make clean` and start again.",
    )
    return (fresh or known)[0]


def _covers(skill: dict[str, Any], matter: CustomerRequest) -> bool:
    words = set(re.findall(r"[a-z]+", f"{skill['name']} {skill['description']}".lower()))
    return set(matter.topics) <= words


def _has_worked(tool: str, calls: list[dict[str, Any]]) -> bool:
    return any(call["name"] == tool and not call["is_error"] for call in calls)


def _slot_text(session: dict[str, Any], slot: Slot) -> str:
    return next((str(part["text"]) for part in session["parts"] if part["slot"] == slot), "")


def _wait_for(look: Callable[[], Found | None], otherwise: str) -> Found:
    deadline = time.monotonic() + EXTRACTION_SECONDS
    while (found := look()) is None:
        expect(time.monotonic() < deadline, otherwise)
        time.sleep(0.25)
    return found


def main() -> int:
    """Play the story; return 0 only if every step passed."""
    missing = [name for name in ("CONSOLE_URL", "DEMO_TOKEN", "DEMO_OPERATOR_LOGIN") if not os.environ.get(name)]
    if missing:
        print(f"Set {', '.join(missing)}; `make demo` does, and plays the story.", file=sys.stderr)
        return 2
    url = os.environ["CONSOLE_URL"]
    story = Story(
        agent=HttpVisitor(url, os.environ["DEMO_TOKEN"]),
        browser=HttpVisitor(url),
        login=os.environ["DEMO_OPERATOR_LOGIN"],
        password=os.environ.get("DEMO_OPERATOR_PASSWORD", ""),
    )
    return 0 if play_steps(story.steps) else 1


if __name__ == "__main__":
    sys.exit(main())
