"""What keeps an installation running: backups, and the proof that they can be restored; it holds no row of its own."""
