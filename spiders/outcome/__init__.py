"""What an answer or a failure means."""
