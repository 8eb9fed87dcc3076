"""The sentences for people: a table per subject turns codes and parameters into English."""
