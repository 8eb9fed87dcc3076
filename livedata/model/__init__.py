"""What things are: the shapes of the interface specification; depends on pydantic alone."""
