"""Why a Run ended as it did: causes, and selectors that a person may try."""
