#!/usr/bin/env python
"""Django's command line for Preceptor."""

import os
import secrets
import sys

from django.core.management import execute_from_command_line

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    if sys.argv[1:2] == ["sanitize"]:
        # It reads a file and signs nothing, so it works before anything is set up.
        os.environ.setdefault("SECRET_KEY", secrets.token_urlsafe(48))
    execute_from_command_line(sys.argv)
