"""What agents keep in mind for later: reminders, tasks and scratch notes; not what they know, which is memory."""
