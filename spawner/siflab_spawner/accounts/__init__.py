"""Who a user is on this machine, and acting with their rights: as root, or through the launcher."""
