"""The neutral, typed cluster: no I/O, and no kind or apiVersion of any system."""
