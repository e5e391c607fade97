"""What Chroma does not repair itself: broken indexes, compaction, another embedder."""
