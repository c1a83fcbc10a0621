"""What processes of the product count. Prometheus asks web processes at `/metrics`, workers and the beat at a port of theirs."""

from typing import Final

from apps.telemetry.prometheus import counter, gauge, histogram, labelled_counter, labelled_histogram

REQUESTS: Final = labelled_counter("http_requests_total", "Answered requests.", "method", "route", "status")
REQUEST_SECONDS: Final = labelled_histogram(
    "http_request_seconds", "How long requests took; streams are left out.", "surface"
)
STREAMS: Final = gauge("streams", "Readers who hold a stream open.")
STREAMS_ENDED: Final = labelled_counter("streams_ended_total", "Streams that were ended by us, by why.", "reason")
STREAM_EVENTS: Final = counter("stream_events_total", "Events that were put before readers.")
TURNS: Final = labelled_counter("turns_total", "Turns that left a worker's hands, by what became of them.", "outcome")
TURN_SECONDS: Final = histogram("turn_seconds", "From the claim of a turn to its end in this worker.")
MODEL_CALLS: Final = labelled_counter("model_calls_total", "Calls of models in turns, by how they ended.", "result")
MODEL_SECONDS: Final = histogram("model_call_seconds", "How long models took over a call of a turn.")
MODEL_TOKENS: Final = labelled_counter("model_tokens_total", "Tokens of such calls, by class.", "class")
TASKS: Final = labelled_counter("tasks_total", "Tasks that ended, by name and how.", "task", "result")
