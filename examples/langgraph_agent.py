"""The same agent as a LangGraph graph: Preceptor hands the turn out at its beginning and takes the report at its end.

PRECEPTOR_URL=... PRECEPTOR_TOKEN=pcp_... ANTHROPIC_API_KEY=... python langgraph_agent.py thread-1 http:kim "Where is parcel 77?"
"""

import sys
import uuid
from operator import add
from typing import Annotated, Any, TypedDict

from anthropic import Anthropic
from langgraph.graph import END, START, StateGraph
from plain_sdk import TRACK, called, preceptor


class State(TypedDict, total=False):
    thread: str
    customer: str
    text: str
    session: dict[str, Any]
    said: Annotated[list[dict[str, Any]], add]
    uses: list[Any]
    told: dict[str, Any]


def take_turn(state: State) -> State:
    """The prompt, the tools and the history come from Preceptor, so the graph needs no memory of its own."""
    written = {"text": state["text"], "idempotency_key": str(uuid.uuid4())}
    thread = {"conversation_key": state["thread"], "end_user_key": state["customer"]}
    return {"session": preceptor("sessions/", **thread, messages=[written])}


def ask_model(state: State) -> State:
    session = state["session"]
    asked = {name: session[name] for name in ("model", "max_tokens", "system")}
    new_messages = ({key: each[key] for key in ("role", "content")} for each in state.get("said", []))
    messages = [*session["messages"], *new_messages]
    reply = Anthropic().messages.create(**asked, tools=[*session["tools"], TRACK], messages=messages)
    uses = [block for block in reply.content if block.type == "tool_use"]
    return {"said": [reply.model_dump(mode="json", exclude_none=True)], "uses": uses}


def call_tools(state: State) -> State:
    return {"said": [{"role": "user", "content": [called(state["session"], use) for use in state["uses"]]}]}


def report_turn(state: State) -> State:
    """Only what comes back from here says whether the reply may be sent."""
    session = state["session"]
    report = {"turn_id": session["turn"]["id"], "messages": state["said"], "idempotency_key": str(uuid.uuid4())}
    return {"told": preceptor(session["report"], **report)}


graph = StateGraph(State)
graph.add_sequence([take_turn, ask_model])
graph.add_node(call_tools)
graph.add_node(report_turn)
graph.add_edge(START, "take_turn")
graph.add_conditional_edges("ask_model", lambda state: "call_tools" if state["uses"] else "report_turn")
graph.add_edge("call_tools", "ask_model")
graph.add_edge("report_turn", END)
agent = graph.compile()

if __name__ == "__main__":
    ended = agent.invoke(dict(zip(("thread", "customer", "text"), sys.argv[1:4], strict=True)))
    print(ended["said"][-1]["content"][-1]["text"] if ended["told"]["may_send"] else ended["told"]["instruction"])
