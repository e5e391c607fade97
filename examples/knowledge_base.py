"""Answers out of a shop's handbook, with their source, and an honest "I do not know".

    python -m examples.knowledge_base

The handbook belongs to the project `shop`: every customer's questions are answered from it, and no
customer's memory is. A new edition takes the place of the old one, and the answer changes with it.
The model is a stand-in that knows nothing but what it is given; `--model openai:gpt-4o-mini` takes
a real one.
"""

from __future__ import annotations

from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import HumanMessage, SystemMessage
from langgraph.graph import END, START, StateGraph

from examples.command_line import chat_model, options
from examples.stand_ins import librarian
from langgraph_memory import ChromaStore, Memory, MemoryState, messages_with_memory, recall_node

SYSTEM = (
    "You answer the customers of a coffee roaster. Answer from the documents that you are given, "
    "in the customer's language, in one sentence, and name the document. What is not in them, you "
    "do not know: say so."
)
HANDBOOK = {
    "en": """# Handbook

## Returns

Unopened bags can be returned within 14 days. We pay the postage.

## Delivery

Orders are shipped on Tuesdays and Fridays. Delivery takes three working days.

## Storing coffee

Keep the beans in a closed tin, away from light. Ground coffee loses its aroma within a week.
""",
    "zh": """# 手册

## 退货

未开封的咖啡豆可以在14天内退货。运费由我们承担。

## 配送

订单每周二和周五发货。三个工作日内送到。

## 保存咖啡

咖啡豆应当密封保存，避免阳光直射。磨好的咖啡粉一周内就会失去香气。
""",
}
CHANGED = ("14", "30")
QUESTIONS = {
    "en": (
        "On which days are orders shipped?",
        "Within how many days can I return unopened bags?",
        "Who won the chess tournament in Hamburg?",
    ),
    "zh": ("订单星期几发货？", "未开封的咖啡豆几天内可以退货？", "谁赢得了汉堡的国际象棋比赛？"),
}
UNKNOWN = {
    "en": "I do not know that: it is not in our documents.",
    "zh": "这个我不知道：我们的资料里没有。",
}


def build(memory: Memory, model: BaseChatModel) -> Any:
    """Return the graph: what the documents say about the question, then the answer."""

    def answer(state: MemoryState) -> dict[str, Any]:
        return {"messages": [model.invoke([SystemMessage(SYSTEM), *messages_with_memory(state)])]}

    builder = StateGraph(MemoryState)
    builder.add_node("recall", recall_node(memory, project=lambda state, config: "shop"))
    builder.add_node("answer", answer)
    builder.add_edge(START, "recall")
    builder.add_edge("recall", "answer")
    builder.add_edge("answer", END)
    return builder.compile()


def ask(graph: Any, question: str, user: str = "c-2291") -> str:
    """Return the answer to a customer's question."""
    config = {"configurable": {"user_id": user}}
    state = graph.invoke({"messages": [HumanMessage(question)]}, config)
    return str(state["messages"][-1].text)


def main() -> None:
    """Add the handbook, ask, replace it, and ask again."""
    given = options(__doc__, "knowledge-base", languages=HANDBOOK)
    handbook, questions = HANDBOOK[given.lang], QUESTIONS[given.lang]
    with Memory(ChromaStore(given.path)) as memory:
        graph = build(memory, chat_model(given.model, librarian(UNKNOWN)))
        for text in (handbook, handbook.replace(*CHANGED)):
            source = memory.add_document(text, source="handbook.md", user="owner", project="shop")
            print(f"\n{source.source}: {source.chunks} chunks")
            for question in questions:
                print(f"  {question}\n    {ask(graph, question)}")


if __name__ == "__main__":
    main()
