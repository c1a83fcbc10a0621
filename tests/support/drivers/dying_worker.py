"""A worker that dies while it waits for a model."""

from dataclasses import dataclass, field

from apps.llm.model_backend import ModelReply, ModelRequest
from tests.support.servers.standin_model import StandIn


class PowerCutError(BaseException):
    """The process ends without any cleanup."""


@dataclass
class DyingModel:
    """A model; the worker dies while it waits for this call."""

    standin: StandIn
    at_call: int
    asked: list[ModelRequest] = field(default_factory=list)

    def complete(self, request: ModelRequest) -> ModelReply:
        self.asked.append(request)
        if len(self.asked) == self.at_call:
            raise PowerCutError
        return self.standin.backend.complete(request)
