"""The default Kubernetes scheduler: filters, scores, preemption, and gangs that start in part.

Our own model of the documented behaviour; what it leaves out is said in the modules.

    placer      NodePlacer, a simulate.placer.Placer on the nodes of an inventory
    choose      Chooser: candidates for one pod, and the words for why there are none
    reach       static filters: taints, selectors, affinity to nodes
    social      filters and scores that hang on other pods: affinity, anti-affinity, spread
    score       Profile and the scores of what is free
    preempt     preempt, Preemptor: who has to make room for a pod; evict
    span        span: how many pods find a node, over ways of breaking ties
    firstcome   FirstCome, a simulate.scheduler.Scheduler without quota: first come, first served
    admitter    FirstComeAdmitter, the same for the event engine (simulate.events.Admitter)
    packing     pack: how much can be allocated, by the protocol of the FGD study
"""
