"""Who is asking: tokens, browser sessions, single sign-on."""
