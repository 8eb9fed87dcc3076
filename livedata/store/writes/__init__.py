"""What the acts write: statements over the tables, inside the transaction of the act."""
