"""Kubernetes itself: nodes, pods, jobs, deployments, namespaces, priority classes."""
