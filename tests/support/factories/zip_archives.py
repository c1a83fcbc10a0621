"""Zip archives as other programs make them, valid and malicious."""

import io
import zipfile
from collections.abc import Mapping

SKILL_MD = b"""---
name: send-an-invoice
description: How to send an invoice again. Use it when a customer lost one.
license: CC-BY-4.0
compatibility: Needs a mail server
allowed-tools:
  - Read
  - Bash(git:*)
metadata:
  author: example-org
  version: "1.10"
---

# Send an invoice

Look the address up in references/addresses.csv, then send it.
"""


def make_zip(files: Mapping[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return out.getvalue()


def make_zip_entry(name: str, content: bytes = b"x", *, mode: int = 0, flags: int = 0) -> bytes:
    """Return a zip of one entry with unusual attributes."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        entry = zipfile.ZipInfo("placeholder")
        entry.filename = entry.orig_filename = name
        entry.external_attr = mode << 16
        archive.writestr(entry, content)
        entry.flag_bits |= flags
    return out.getvalue()


def make_skill_md(name: str = "send-an-invoice", **fields: str) -> bytes:
    """Return a short `SKILL.md`."""
    given = {"name": name, "description": "How to do it.", **fields}
    front_matter = "".join(f"{key.replace('_', '-')}: {value}\n" for key, value in given.items())
    return f"---\n{front_matter}---\n\nDo it.\n".encode()
