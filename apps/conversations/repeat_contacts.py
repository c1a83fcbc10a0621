"""When a customer came back: which later conversation takes up one that had ended, in SQL for whoever counts outcomes."""

from typing import Final

# Of two rows called `earlier` and `later`. A thread that goes on is taken up whoever writes. Beyond the thread, and whichever
# agent answers, it is the same customer by their key, where both times whoever wrote is believed to be them. A key names its
# channel: the same id on two channels is two people (R009). What was off the record is left out.
_IS_LATER_CUSTOMER_CONTACT: Final = """
    later.tenant_id = earlier.tenant_id AND later.id <> earlier.id AND later.origin = 'live' AND later.parent_id IS NULL
    AND later.member_user_id IS NULL AND earlier.status <> 'open' AND NOT earlier.off_the_record AND NOT later.off_the_record
    AND later.created_at < coalesce(earlier.resolved_at, earlier.updated_at) + interval '7 days'"""
_FOLLOWS_EARLIER: Final = "later.follows_id = earlier.id"
_IS_SAME_CUSTOMER: Final = """
    later.end_user_key <> '' AND later.end_user_key = earlier.end_user_key
    AND later.created_at >= coalesce(earlier.resolved_at, earlier.updated_at)
    AND (later.proven_at IS NOT NULL AND earlier.proven_at IS NOT NULL
         OR NOT (SELECT settings.is_customer_proof_required FROM tenants_tenantsettings AS settings
                  WHERE settings.tenant_id = earlier.tenant_id))"""
IS_REPEAT_CONTACT: Final = f"{_IS_LATER_CUSTOMER_CONTACT} AND ({_FOLLOWS_EARLIER} OR {_IS_SAME_CUSTOMER})"
_SELECT_LATER: Final = "SELECT 1 FROM conversations_conversation AS later WHERE"  # of constants
# Whether `earlier` is taken up by any. Each half is looked up by an index of its own, row by row, and ends at the first it finds.
HAS_REPEAT_CONTACT: Final = f"""(
    EXISTS ({_SELECT_LATER} {_IS_LATER_CUSTOMER_CONTACT} AND {_FOLLOWS_EARLIER} OFFSET 0)
    OR EXISTS ({_SELECT_LATER} {_IS_LATER_CUSTOMER_CONTACT} AND {_IS_SAME_CUSTOMER} OFFSET 0))"""
