"""What is proposed of pages that are written here."""
