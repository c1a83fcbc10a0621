"""Authentication: agents' tokens, browser sessions and single sign-on."""
