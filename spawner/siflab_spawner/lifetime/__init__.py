"""How long a session lives: more time, idle ones, and its end."""
