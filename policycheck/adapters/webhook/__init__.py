"""The admission webhook: what the API server asks before it keeps an object, answered with the rules of lint."""
