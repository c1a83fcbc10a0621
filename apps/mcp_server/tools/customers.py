"""Tools for the profiles of customers."""

from typing import Final

from apps.api.resources.memory.customer_profiles import CreateProfileBody, UpdateProfileBody
from apps.governance.policy.policy_table import Act
from apps.mcp_server.tool_definition import RestTool
from apps.mcp_server.tools.argument_texts import CUSTOMER_TEXT, VERSION_TEXT

PROFILE_ARGUMENT_TEXTS: Final = {
    "preferences": "How the customer wants to be dealt with.",
    "notes": "What else is worth knowing of the customer.",
}

CUSTOMER_TOOLS: Final = (
    RestTool(
        "find_profile",
        "Read what is known of one customer. All agents of the tenant share it.",
        "GET",
        "profiles/",
        ("end_user_key",),
        needs=("end_user_key",),
        words={"end_user_key": CUSTOMER_TEXT},
        is_single=True,
    ),
    RestTool(
        "create_profile",
        "Write down the first that is known of a customer, where find_profile finds nothing.",
        "POST",
        "profiles/",
        ("end_user_key", "preferences", "notes"),
        CreateProfileBody,
        words={**PROFILE_ARGUMENT_TEXTS, "end_user_key": CUSTOMER_TEXT},
        acts=(Act.PROFILE_AMEND,),
    ),
    RestTool(
        "update_profile",
        "Replace a customer's preferences, notes, or both, each by a whole new text. The next session carries it.",
        "PATCH",
        "profiles/{id}/",
        ("preferences", "notes", "version"),
        UpdateProfileBody,
        needs=("version",),
        words={**PROFILE_ARGUMENT_TEXTS, "id": "The profile's id, as find_profile gives it.", "version": VERSION_TEXT},
        acts=(Act.PROFILE_AMEND,),
        is_destructive=True,
        is_idempotent=True,
    ),
)
