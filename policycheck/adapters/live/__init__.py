"""A running cluster, read: once for a command (``snapshot``), or kept up with for the webhook (``feed``).

lightkube finds and reads kubeconfig files, and signs requests in (certificates, tokens, plugins). Listing and
watching are a few lines of our own over its HTTP client, because what its watch leaves out is what matters
here: bookmarks, a new list after 410, and telling how old the picture is.
"""
