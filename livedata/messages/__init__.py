"""The words for people: codes and parameters to English, one table per subject."""
