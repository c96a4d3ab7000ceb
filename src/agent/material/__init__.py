"""The material for an answer: attached files, pages, pictures, the run's workspace."""
