"""Pages as text for a model."""
