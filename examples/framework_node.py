"""Memory as a node and as tools of an agent framework, such as LangGraph.

A node is a function from a state to a change of it, so no adapter is needed: one node puts the
digest into the state before the model, one adds the conversation after it. The tools go to the
model as definitions, and its calls come back as a name and arguments.

    python framework_node.py
"""

from collections.abc import Callable
from typing import TypedDict

import simonides
from simonides import Memory


class Message(TypedDict):
    """A message, as chat models take it."""

    role: str
    content: str


class State(TypedDict):
    """The state of the graph."""

    messages: list[Message]
    context: str


Node = Callable[[State], State]


def recall_node(memory: Memory) -> Node:
    def recall(state: State) -> State:
        return {**state, "context": memory.digest(state["messages"]).text}

    return recall


def remember_node(memory: Memory) -> Node:
    def remember(state: State) -> State:
        memory.add(state["messages"])
        return state

    return remember


def call_model(state: State) -> State:
    """Stand in for the node that calls the model with context and messages."""
    reply = "Berlin" if "Berlin" in state["context"] else "I do not know yet."
    return {**state, "messages": [*state["messages"], {"role": "assistant", "content": reply}]}


def main() -> None:
    with simonides.open("memory.db") as store:
        memory = store.memory(user="ana").session("thread-7")
        graph = (recall_node(memory), call_model, remember_node(memory))
        for said in ("Where do I live?", "I live in Berlin.", "Where do I live?"):
            state: State = {"messages": [{"role": "user", "content": said}], "context": ""}
            for node in graph:
                state = node(state)
            print(f"{said} -> {state['messages'][-1]['content']}")

        tools = memory.tools("search", "remember")
        for vendor in ("openai", "anthropic"):
            print(f"{vendor}:", ", ".join(tools.definitions(vendor)[0]))
        print(tools.call("remember_memory", {"content": "Ana has a bicycle"}))
        reply = tools.call("search_memory", '{"query": "Does Ana have a bicycle?"}')
        print("The model reads it:", "Ana has a bicycle" in reply.text)
        print(tools.call("search_memory", {"question": "bicycle"}))


if __name__ == "__main__":
    main()
