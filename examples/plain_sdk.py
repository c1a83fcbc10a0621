"""A support agent on the plain Anthropic SDK: it asks its own model and calls its own tools, and Preceptor is its memory.

PRECEPTOR_URL=... PRECEPTOR_TOKEN=pcp_... ANTHROPIC_API_KEY=... python plain_sdk.py thread-1 http:kim "Where is parcel 77?"
"""

import json
import os
import sys
import uuid
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from anthropic import Anthropic

TRACK_PARCEL = {
    "name": "track_parcel",
    "description": "Where a parcel is.",
    "input_schema": {"type": "object", "properties": {"number": {"type": "string"}}, "required": ["number"]},
}


def post_to_preceptor(path, **body):
    headers = {"Authorization": f"Bearer {os.environ['PRECEPTOR_TOKEN']}", "Content-Type": "application/json"}
    address = os.environ["PRECEPTOR_URL"] + (path if path.startswith("/") else f"/api/v1/{path}")
    try:
        with urlopen(Request(address, json.dumps(body).encode(), headers)) as answer:
            return json.load(answer)
    except HTTPError as refused:
        sys.exit(json.load(refused)["detail"])


def call_tool(session, use):
    """Our own tool is ours to call; every other one is the house's."""
    if use.name == TRACK_PARCEL["name"]:
        given = {"content": f"Parcel {use.input['number']} is in Lyon.", "is_error": False}
    else:
        call = {"turn_id": session["turn"]["id"], "call_id": use.id, "name": use.name, "input": use.input}
        given = post_to_preceptor(session["calls"], **call)
    return {"type": "tool_result", "tool_use_id": use.id, "content": given["content"], "is_error": given["is_error"]}


def answer(thread, customer, text):
    written = {"text": text, "idempotency_key": str(uuid.uuid4())}
    session = post_to_preceptor("sessions/", conversation_key=thread, end_user_key=customer, messages=[written])
    model, new_messages = Anthropic(), []
    for _ in range(session["turn"]["max_steps"]):
        asked = {name: session[name] for name in ("model", "max_tokens", "system")}
        messages = [*session["messages"], *({key: each[key] for key in ("role", "content")} for each in new_messages)]
        reply = model.messages.create(**asked, tools=[*session["tools"], TRACK_PARCEL], messages=messages)
        new_messages.append(reply.model_dump(mode="json", exclude_none=True))
        if reply.stop_reason != "tool_use":
            break
        new_messages.append(
            {"role": "user", "content": [call_tool(session, b) for b in reply.content if b.type == "tool_use"]}
        )
    report = {"turn_id": session["turn"]["id"], "messages": new_messages, "idempotency_key": str(uuid.uuid4())}
    response = post_to_preceptor(session["report"], **report)
    return reply.content[-1].text if response["may_send"] else f"({response['instruction']})"


if __name__ == "__main__":
    print(answer(*sys.argv[1:4]))
