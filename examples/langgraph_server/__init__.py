"""The coffee roaster's assistant on a LangGraph server; see `docs/langgraph_server.md`.

    pip install "langgraph-cli[inmem]"
    cd examples/langgraph_server
    langgraph dev --no-browser

It reads `langgraph.json`, needs no key, and keeps what it knows in `memory/` beside it.
"""
