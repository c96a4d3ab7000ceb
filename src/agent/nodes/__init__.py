"""The nodes of the graph: short functions around code that does not depend on LangGraph."""
