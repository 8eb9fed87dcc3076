"""What research records: artifacts, steps with their facts, calls, entities."""
