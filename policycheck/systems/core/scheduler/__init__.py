"""The default Kubernetes scheduler: filters, scores, preemption, and gangs that start in part.

Our own model of the documented behaviour; what it leaves out is said in the modules.

    placer      NodePlacer, a simulate.placer.Placer on the nodes of an inventory
    choose      Chooser: candidates for one pod, and the words for why there are none
    reach       static filters: taints, selectors, affinity to nodes
    social      filters and scores that hang on other pods: affinity, anti-affinity, spread
    score       Profile and the scores of what is free
"""
