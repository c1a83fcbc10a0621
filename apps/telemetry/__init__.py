"""What a process tells of itself, as log lines and as counts; it knows no Django, and nothing of what it tells about."""
