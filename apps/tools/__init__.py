"""Tools that others run: their servers, what these offer, and which agent may call what; not how a call is made."""
