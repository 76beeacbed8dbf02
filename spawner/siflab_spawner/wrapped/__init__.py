"""For sites that mix spawners: one page for several spawner classes."""
