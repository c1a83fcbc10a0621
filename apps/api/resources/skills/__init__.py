"""REST: skills, their attachments, retirement, import and export."""
