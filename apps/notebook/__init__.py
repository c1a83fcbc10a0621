"""An agent's notebook: reminders, tasks and scratch notes; lasting knowledge is memory."""
