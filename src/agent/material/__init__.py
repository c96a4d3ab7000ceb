"""What a question is answered from: attached files, pages, pictures, the run's workspace."""
