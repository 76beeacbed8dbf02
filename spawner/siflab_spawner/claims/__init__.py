"""What a session's job may ask and tell the Hub, and how others are kept out."""
