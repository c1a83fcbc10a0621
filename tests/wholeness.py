"""What `make test` tries in a shorter form, and `python -m tests.proof_whole` whole."""

import os
from typing import TypeVar

Form = TypeVar("Form")

IS_WHOLE = os.environ.get("WHOLE_TESTS") == "1"


def whole_or(short: Form, *, whole: Form) -> Form:
    """The form of this run. A test that asks is marked `whole`, or nobody runs its whole form."""
    return whole if IS_WHOLE else short
