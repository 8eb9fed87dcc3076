"""What a declaration must hold beyond its shape."""
