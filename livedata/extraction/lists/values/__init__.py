"""Which values of a field are whole, and its own."""
