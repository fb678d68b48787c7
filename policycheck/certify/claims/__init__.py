"""The claims: one module each, and the list of all of them."""
