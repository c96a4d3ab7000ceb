"""The nodes of the graph: short functions that call code without LangGraph."""
