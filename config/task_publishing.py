"""Publishing of tasks by processes that must not wait for the broker, such as the web process.

A task that is not published is not lost: the database has its work, and a sweep finds it.
"""

import time
from typing import Final

import redis
from celery import Celery
from kombu.exceptions import OperationalError

from config.celery import app

# After a broker did not answer in time, no task is published for so long: otherwise each request would wait for the same broker.
PAUSE_SECONDS: Final = 5.0


class TaskPublisher:
    """Publishes tasks, and pauses after a broker that accepts connections and does not answer."""

    def __init__(self, publishing_app: Celery) -> None:
        self._app = publishing_app
        self._paused_until = 0.0

    def publish(self, task: str, *args: int) -> bool:
        """Publish a task by name. Return false if the broker did not take it."""
        if time.monotonic() < self._paused_until:
            return False
        try:
            self._app.send_task(task, args=args, retry=False)
        except OperationalError as error:
            if isinstance(error.__cause__, redis.TimeoutError):
                self._paused_until = time.monotonic() + PAUSE_SECONDS
            return False
        return True


publish_task: Final = TaskPublisher(app).publish
