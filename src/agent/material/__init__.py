"""The material for an answer: attached files, pages, pictures and the run's workspace."""
