"""One tiny call of an endpoint, to see whether it answers; asked by a person, outside every transaction."""

from dataclasses import dataclass
from time import monotonic

from django.conf import settings
from django.utils.module_loading import import_string

from apps.governance.actors import Actor
from apps.llm.model_backend import Backend, BackendError, Reply, Request
from apps.tenants.authentication.actor_resolution import system_actor
from apps.tenants.endpoints.decrypted_endpoint import Reached, opened
from apps.tenants.endpoints.endpoint_access import refuse_test

SECONDS = 20.0
TOKENS = 16
# Whatever answers may answer at length.
CHARACTERS = 300


@dataclass(frozen=True, slots=True)
class Tried:
    """What came back, in one sentence; `code` is empty where a model answered."""

    detail: str
    code: str = ""
    model: str = ""
    milliseconds: int = 0

    @property
    def is_ok(self) -> bool:
        """Whether agents can think there."""
        return not self.code


def try_endpoint(endpoint_id: int, *, actor: Actor, model: str = "") -> Tried:
    """Say hello to a model there. Nothing of it is kept but what whoever asked is told."""
    endpoint = refuse_test(endpoint_id, actor=actor)
    asked = model or settings.DEFAULT_MODEL
    began = monotonic()
    try:
        reply = _hello(opened(endpoint.pk, system=system_actor(endpoint.tenant_id, "endpoint test")), asked)
    except BackendError as error:
        return Tried(f"No answer: {str(error)[:CHARACTERS]}", error.code, asked)
    return _told(reply, round(1000 * (monotonic() - began)))


def _told(reply: Reply, milliseconds: int) -> Tried:
    used = reply.usage.prompt_tokens + reply.usage.output_tokens
    sentence = f"{reply.model[:80]} answered in {milliseconds} ms with {used} tokens ({reply.stop_reason.value})."
    return Tried(sentence, "", reply.model[:80], milliseconds)


def _hello(place: Reached, model: str) -> Reply:
    # Named, not imported: the vendor's SDK takes a second and a half, which no other page should wait for.
    backend: Backend = import_string("apps.runtime.worker.model_backends.turn_backend_at")(place)
    request = Request(model, TOKENS, (), ({"role": "user", "content": "Say yes."},), timeout_seconds=SECONDS)
    return backend.complete(request)
