"""The server of the API and the pages: connections, and whose request is next."""
