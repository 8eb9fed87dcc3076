"""The only room that knows SQL; what belongs to an owner is asked for with the owner."""
