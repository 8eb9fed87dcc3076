"""What things are: the shapes of the interface; depends on pydantic alone."""
