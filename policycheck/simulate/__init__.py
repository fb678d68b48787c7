"""Dynamic simulation, and the protocols that admitting systems implement."""
