"""The command `langgraph-memory`."""
