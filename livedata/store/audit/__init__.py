"""What the judge of a whole store asks it: streams of its records, and what contradicts itself."""
