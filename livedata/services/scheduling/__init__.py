"""When Runs start by themselves, and how long a process may keep one: schedules and leases."""
