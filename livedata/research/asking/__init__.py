"""What the model is asked: about which part of a page, in which words, and at which cost."""
