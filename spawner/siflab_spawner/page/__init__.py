"""The spawn page and the Hub's pages around a session: choices, limits, estimates, words."""
