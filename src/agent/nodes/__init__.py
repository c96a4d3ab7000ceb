"""The nodes of the graph: short functions that call code which knows nothing of LangGraph."""
