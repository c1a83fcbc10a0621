"""How long a test waits for what has to come."""

from typing import Final

# On a machine that does ten other things. What is there is not waited for, so that nobody waits so long but for a flaw.
PATIENCE_SECONDS: Final = 120
