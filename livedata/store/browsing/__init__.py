"""What is kept of browsers that are signed in, and asked for by the pages."""
