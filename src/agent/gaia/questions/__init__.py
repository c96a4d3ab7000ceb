"""Which questions are asked, with their files; true answers held apart."""
