"""The only room that knows SQL; whatever belongs to an owner is asked for with the owner."""
