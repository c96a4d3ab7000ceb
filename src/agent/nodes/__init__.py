"""The nodes of the graph: each short, calling what knows nothing of LangGraph."""
