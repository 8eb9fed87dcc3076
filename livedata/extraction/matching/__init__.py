"""Which elements a selector matches, among them by what is derived from the tree."""
