"""The Celery application and its beat table. The database is the truth; Celery is only the alarm clock."""

import os
import sys
import warnings
from typing import Any

from celery import Celery, bootsteps
from celery.signals import beat_init, task_postrun, task_prerun, worker_ready
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.utils.module_loading import import_string
from kombu import Connection
from kombu.transport import virtual

from apps.telemetry.log_context import replace_log_context
from apps.telemetry.product_metrics import TASKS
from apps.tenants.checks import log_role_violations

# The package announces its successor at every import; the notice does not concern this code.
warnings.filterwarnings("ignore", message="The 'django-fsm' package", category=UserWarning)
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

# A closing channel must not return its messages: with the broker gone, that attempt ended the worker. The sweeps find lost work.
virtual.Channel.do_restore = False


class ProductCelery(Celery):
    """Celery with a time limit for what is written to the broker; a worker waits for its next message without one."""

    def connection_for_write(self, url: str | None = None, **kwargs: Any) -> Connection:
        """Return a connection that gives up if the broker accepts it and does not answer, as a frozen process does."""
        options = {"socket_timeout": settings.BROKER_WRITE_SECONDS, **(kwargs.pop("transport_options", None) or {})}
        return super().connection_for_write(url, transport_options=options, **kwargs)


app = ProductCelery("preceptor")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()


@worker_ready.connect
def check_roles_at_start(**_kwargs: Any) -> None:
    """Run the same check of database roles at the start of a worker as the web process does."""
    log_role_violations()


@worker_ready.connect
@beat_init.connect
def serve_metrics(**_kwargs: Any) -> None:
    """Serve metrics on a port, since workers and the beat serve no HTTP otherwise."""
    import_string("apps.operations.metrics.serve_metrics_endpoint")()


@beat_init.connect
def register_beat_entries(**_kwargs: Any) -> None:
    """Store the beat's entries in the database, so that people see when one does not run."""
    import_string("apps.runtime.health.beat_monitor.register_beat_tasks")()


@task_prerun.connect
def record_beat_entry(task: Any, **_kwargs: Any) -> None:
    """Record that a worker ran a task, if the beat sent it."""
    import_string("apps.runtime.health.beat_monitor.record_run")(task.name)


@task_prerun.connect
def set_log_context(task_id: str, task: Any, **_kwargs: Any) -> None:
    """Add the task's name and id to its log lines."""
    replace_log_context(task=task.name, task_id=task_id)


@task_postrun.connect
def clear_log_context(task: Any, state: str | None = None, **_kwargs: Any) -> None:
    """Count the finished task, and clear the log context of its thread."""
    TASKS.labels(task=task.name, result=(state or "unknown").lower()).inc()
    replace_log_context()


class TurnEngine(bootsteps.StartStopStep):
    """The turn engine as a Celery step: started before the broker connection, drained after it is closed."""

    requires = ("celery.worker.components:Pool",)

    def start(self, parent: Any) -> None:
        """Start taking turns. A process pool is refused: children that it forks later would inherit the engine's threads."""
        if "prefork" in parent.pool_cls.__module__:
            raise ImproperlyConfigured("A worker runs its turns in one event loop. Start it with --pool=threads.")
        # Imported by name: the web process imports this module too, and does not need the vendor's SDK.
        import_string("apps.runtime.worker.process.start")()

    def info(self, _parent: Any) -> dict[str, Any]:  # type: ignore[override]  # Celery takes a dictionary; its stubs say none
        """Return the engine's statistics, which Celery's `inspect stats` shows beside the pool."""
        turns = turns_under_way()
        oldest = max((turn["seconds"] for turn in turns), default=None)
        return {
            "turns": {"under_way": len(turns), "at_most": settings.TURNS_IN_FLIGHT, "oldest_seconds": oldest},
        }

    def stop(self, _parent: Any) -> None:
        """Warm shutdown: turns under way may finish."""
        import_string("apps.runtime.worker.process.stop")(settings.TURN_DRAIN_SECONDS)

    def terminate(self, _parent: Any) -> None:
        """Cold shutdown: turns under way are released at once."""
        import_string("apps.runtime.worker.process.stop")(0)


app.steps["worker"].add(TurnEngine)


def turns_under_way(_state: Any = None) -> list[dict[str, Any]]:
    """`celery -A config inspect turns`: the turns that each worker runs, the oldest first, with age and tenant."""
    turns: list[dict[str, Any]] = import_string("apps.runtime.worker.process.turns_under_way")()
    return turns


# Celery's own programs have loaded their commands by now; the web process imports this module too, and needs none.
if "celery.worker.control" in sys.modules:
    import_string("celery.worker.control.Panel").register(
        turns_under_way, type="inspect", name="turns", help="Turns under way, the oldest first."
    )
