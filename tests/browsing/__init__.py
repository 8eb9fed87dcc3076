"""The pages, as a person in a browser meets them."""
