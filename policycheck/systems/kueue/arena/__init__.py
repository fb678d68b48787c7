"""Kueue as claims see it (certify.arena.Arena): scenarios played by its scheduler, and written as cases."""
