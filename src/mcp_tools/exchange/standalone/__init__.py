"""The code that goes along with exported tools. It is copied as text, and imports nothing of alita."""
