"""The product's own metrics. Prometheus scrapes web processes at `/metrics`, and workers and the beat at a separate port."""

from typing import Final

from apps.telemetry.prometheus import counter, gauge, histogram, labelled_counter, labelled_histogram

REQUESTS: Final = labelled_counter("http_requests_total", "Answered requests.", "method", "route", "status")
REQUEST_SECONDS: Final = labelled_histogram(
    "http_request_seconds", "Duration of requests; streams are left out.", "surface"
)
STREAMS: Final = gauge("streams", "Open streams.")
STREAMS_ENDED: Final = labelled_counter("streams_ended_total", "Streams that the server ended, by reason.", "reason")
STREAM_EVENTS: Final = counter("stream_events_total", "Events sent to readers of streams.")
TURNS: Final = labelled_counter("turns_total", "Turns that left a worker, by outcome.", "outcome")
TURN_SECONDS: Final = histogram("turn_seconds", "Time from the claim of a turn to its end in this worker.")
MODEL_CALLS: Final = labelled_counter("model_calls_total", "Model calls of turns, by outcome.", "result")
MODEL_SECONDS: Final = histogram("model_call_seconds", "Duration of model calls of turns.")
MODEL_TOKENS: Final = labelled_counter("model_tokens_total", "Tokens of model calls of turns, by class.", "class")
TASKS: Final = labelled_counter("tasks_total", "Finished tasks, by name and state.", "task", "result")
