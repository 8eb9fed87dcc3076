"""Which elements of a page a person does not see, as far as the page itself says so."""
