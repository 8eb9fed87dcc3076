"""What ``livedata mcp`` gives to agents: tools over the services, by the Model Context Protocol."""
