"""Sessions: opened with a frozen prompt, continued, ended."""
