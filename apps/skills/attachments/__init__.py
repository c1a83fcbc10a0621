"""Files beside a skill: stored, reviewed and served."""
