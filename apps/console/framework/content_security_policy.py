"""What a browser may load and run for the console's pages: what the server names, and nothing else.

docs/console.md says of each line what was tried, and why nothing tighter runs.
"""

import secrets

# Style sheets, fonts and pictures are files of ours, scripts those that this one answer names; none makes markup or code of words.
_POLICY = (
    "default-src 'none'; script-src 'nonce-{nonce}'; style-src 'self'; font-src 'self'; img-src 'self'; connect-src 'self';"
    " base-uri 'none'; form-action 'self'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)


def new_nonce() -> str:
    """A word that nobody could have known before this answer."""
    return secrets.token_urlsafe(16)


def content_policy(nonce: str) -> str:
    """The header of one answer, whose scripts carry this word."""
    return _POLICY.format(nonce=nonce)
