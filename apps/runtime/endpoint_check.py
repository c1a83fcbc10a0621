"""A small test call of a model endpoint, requested by a person and made outside every transaction."""

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
# An unknown server may answer with a long text.
ERROR_CHARACTERS = 300


@dataclass(frozen=True, slots=True)
class EndpointCheck:
    """The result of the test call, in one sentence; `code` is empty if a model answered."""

    detail: str
    code: str = ""
    model: str = ""
    milliseconds: int = 0

    @property
    def is_ok(self) -> bool:
        """Whether agents can use the endpoint."""
        return not self.code


def try_endpoint(endpoint_id: int, *, actor: Actor, model: str = "") -> EndpointCheck:
    """Send a short request to a model of the endpoint. Only the caller gets the result; nothing is stored."""
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
    # Imported by name: loading the vendor's SDK takes a second and a half, and other pages should not wait for it.
    backend: ModelBackend = import_string("apps.runtime.worker.model_backends.turn_backend_at")(place)
    request = ModelRequest(
        model, REPLY_TOKENS, (), ({"role": "user", "content": "Say yes."},), timeout_seconds=TIMEOUT_SECONDS
    )
    return backend.complete(request)
