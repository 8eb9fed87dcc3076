"""What diagnostics say of Runs, in words."""
