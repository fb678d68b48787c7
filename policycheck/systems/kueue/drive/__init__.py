"""Kueue as the event engine drives it: jobs to Workloads, configuration to facts, decisions to words."""
