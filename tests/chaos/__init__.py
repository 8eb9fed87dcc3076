"""Two machines and two database servers that fail by a plan, and a judge of what came of it."""
