"""Acts of research: datasets, what a Run records, and what it found."""
