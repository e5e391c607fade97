"""LangGraph's store on one Chroma collection; `chromadb` is imported in here alone."""
