"""Real pages with what a person says of them, and the judge of what `livedata init` finds there."""
