"""Content security policy of the console's pages: a browser loads and runs only what the server names.

docs/console.md explains each line: what was tried, and why nothing tighter works.
"""

import secrets

# Styles, fonts and pictures are files of ours, and scripts carry the nonce of the response; no text becomes markup or code.
_POLICY = (
    "default-src 'none'; script-src 'nonce-{nonce}'; style-src 'self'; font-src 'self'; img-src 'self'; connect-src 'self';"
    " base-uri 'none'; form-action 'self'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)


def new_nonce() -> str:
    """Return a word for one response that nobody can guess."""
    return secrets.token_urlsafe(16)


def content_policy(nonce: str) -> str:
    """Return the header for one response, whose scripts carry this nonce."""
    return _POLICY.format(nonce=nonce)
