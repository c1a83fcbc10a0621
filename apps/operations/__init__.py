"""Running an installation: backups, restore drills, readiness checks and metrics; it has no tables."""
