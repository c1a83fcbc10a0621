"""What every page of the console is built on: governed admins, forms, labels, diffs, version history."""
