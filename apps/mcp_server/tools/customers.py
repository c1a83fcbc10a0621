"""Tools for the profiles of customers."""

from typing import Final

from apps.api.resources.memory.customer_profiles import NewProfile, ProfileChange
from apps.governance.policy.table import Act
from apps.mcp_server.tool_definition import Tool
from apps.mcp_server.tools.argument_texts import CUSTOMER, READ

KNOWN: Final = {
    "preferences": "How the customer wants to be dealt with.",
    "notes": "What else is worth knowing of the customer.",
}

CUSTOMER_TOOLS: Final = (
    Tool(
        "find_profile",
        "Read what is known of one customer. All agents of the tenant share it.",
        "GET",
        "profiles/",
        ("end_user_key",),
        needs=("end_user_key",),
        words={"end_user_key": CUSTOMER},
        is_single=True,
    ),
    Tool(
        "create_profile",
        "Write down the first that is known of a customer, where find_profile finds nothing.",
        "POST",
        "profiles/",
        ("end_user_key", "preferences", "notes"),
        NewProfile,
        words={**KNOWN, "end_user_key": CUSTOMER},
        acts=(Act.PROFILE_AMEND,),
    ),
    Tool(
        "update_profile",
        "Replace a customer's preferences, notes, or both, each by a whole new text. The next session carries it.",
        "PATCH",
        "profiles/{id}/",
        ("preferences", "notes", "version"),
        ProfileChange,
        needs=("version",),
        words={**KNOWN, "id": "The profile's id, as find_profile gives it.", "version": READ},
        acts=(Act.PROFILE_AMEND,),
        is_destructive=True,
        is_idempotent=True,
    ),
)
