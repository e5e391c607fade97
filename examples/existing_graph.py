"""An ordinary LangGraph chatbot with a tool, and the few lines that give it memory.

    python -m examples.existing_graph

The lines that memory needs are marked `# memory`; all else is the graph as it was. The node keeps
its name, its parameters and the plain `MessagesState`.
"""

from __future__ import annotations

from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.tools import tool
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition

from examples.command_line import options
from examples.stand_ins import price_asker
from langgraph_memory import ChromaStore, Memory, open_sessions, with_memory  # memory


@tool
def price_of(bean: str) -> str:
    """Return the price of a kilo of beans."""
    return {"Colombia": "14 euros", "Sidamo": "18 euros"}.get(bean, "not on the list")


def build(model: BaseChatModel, memory: Memory, checkpointer: Any) -> Any:
    """Return the chatbot: a model and its tool, in a loop."""
    tools = [price_of]

    def chat(state: MessagesState) -> dict[str, Any]:
        return {"messages": [model.bind_tools(tools).invoke(state["messages"])]}

    builder = StateGraph(MessagesState)
    builder.add_node("chat", with_memory(chat, memory))  # memory; before: add_node("chat", chat)
    builder.add_node("tools", ToolNode(tools))
    builder.add_edge(START, "chat")
    builder.add_conditional_edges("chat", tools_condition)
    builder.add_edge("tools", "chat")
    return builder.compile(checkpointer=checkpointer)


def main() -> None:
    """Ask once, and print what the model was given and what is remembered."""
    path = options(__doc__, "existing", model=False).path
    model = price_asker("A kilo of Sidamo is 18 euros.", bean="Sidamo")
    with Memory(ChromaStore(path)) as memory, open_sessions(path) as sessions:  # memory
        memory.remember("Brews Sidamo in a French press", user="c-2291", kind="preference")
        graph = build(model, memory, sessions.checkpointer)
        config = sessions.config(user="c-2291", thread_id=f"visit-{len(sessions.list('c-2291'))}")
        graph.invoke({"messages": [("user", "What is a kilo of my usual beans?")]}, config)
        print("The model was given:", model.calls[0][-1].text, sep="\n")
        print("\nThe session holds:", [m.text for m in graph.get_state(config).values["messages"]])
        print("\nRemembered:", memory.count(user="c-2291"))


if __name__ == "__main__":
    main()
