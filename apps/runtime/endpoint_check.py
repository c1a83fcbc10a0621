"""One tiny call of an endpoint, to see whether it answers; asked by a person, outside every transaction."""

from dataclasses import dataclass
from time import monotonic

from django.conf import settings
from django.utils.module_loading import import_string

from apps.governance.actors import Actor
from apps.llm.model_backend import BackendError, ModelBackend, ModelReply, ModelRequest
from apps.tenants.authentication.actor_resolution import system_actor
from apps.tenants.endpoints.decrypted_endpoint import OpenedEndpoint, read_decrypted_endpoint
from apps.tenants.endpoints.endpoint_access import endpoint_to_test

TIMEOUT_SECONDS = 20.0
REPLY_TOKENS = 16
# Whatever answers may answer at length.
ERROR_CHARACTERS = 300


@dataclass(frozen=True, slots=True)
class EndpointCheck:
    """What came back, in one sentence; `code` is empty where a model answered."""

    detail: str
    code: str = ""
    model: str = ""
    milliseconds: int = 0

    @property
    def is_ok(self) -> bool:
        """Whether agents can think there."""
        return not self.code


def try_endpoint(endpoint_id: int, *, actor: Actor, model: str = "") -> EndpointCheck:
    """Say hello to a model there. Nothing of it is kept but what whoever asked is told."""
    endpoint = endpoint_to_test(endpoint_id, actor=actor)
    asked = model or settings.DEFAULT_MODEL
    began = monotonic()
    try:
        reply = _send_test_request(
            read_decrypted_endpoint(endpoint.pk, system=system_actor(endpoint.tenant_id, "endpoint test")), asked
        )
    except BackendError as error:
        return EndpointCheck(f"No answer: {str(error)[:ERROR_CHARACTERS]}", error.code, asked)
    return _describe_reply(reply, round(1000 * (monotonic() - began)))


def _describe_reply(reply: ModelReply, milliseconds: int) -> EndpointCheck:
    used = reply.usage.prompt_tokens + reply.usage.output_tokens
    sentence = f"{reply.model[:80]} answered in {milliseconds} ms with {used} tokens ({reply.stop_reason.value})."
    return EndpointCheck(sentence, "", reply.model[:80], milliseconds)


def _send_test_request(place: OpenedEndpoint, model: str) -> ModelReply:
    # Named, not imported: the vendor's SDK takes a second and a half, which no other page should wait for.
    backend: ModelBackend = import_string("apps.runtime.worker.model_backends.turn_backend_at")(place)
    request = ModelRequest(
        model, REPLY_TOKENS, (), ({"role": "user", "content": "Say yes."},), timeout_seconds=TIMEOUT_SECONDS
    )
    return backend.complete(request)
