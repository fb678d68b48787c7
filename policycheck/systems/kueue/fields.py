"""Field tables of Kueue's kinds, in their newest served form with what older versions called it.

Written from the API reference (kueue.x-k8s.io/v1beta2 and v1beta1) and the facts about limits and
defaults; not a copy of its CustomResourceDefinitions.
"""

from __future__ import annotations

from policycheck.model.schema import (
    Field,
    Table,
    any_,
    boolean,
    but,
    duration,
    integer,
    labels,
    list_of,
    map_of,
    number,
    obj,
    quantity,
    required,
    string,
)

GROUP = "kueue.x-k8s.io"
VERSIONS = ("v1beta1", "v1beta2")
DEPRECATED = ("v1beta1",)
DEAD = {
    "v1alpha1": "no release since 0.14 serves it; write kueue.x-k8s.io/v1beta2",
    "v1alpha2": "no release since 0.3 serves it; write kueue.x-k8s.io/v1beta2",
}

_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_STOP = ("None", "Hold", "HoldAndDrain")


def _selector() -> Field:
    expression = obj(
        key=string(required=True),
        operator=string(required=True, enum=("In", "NotIn", "Exists", "DoesNotExist")),
        values=list_of(string()),
    )
    return obj(matchLabels=labels(), matchExpressions=list_of(expression))


def _tolerations() -> Field:
    return list_of(
        obj(
            key=string(),
            operator=string(enum=("Exists", "Equal")),
            value=string(),
            effect=string(enum=_EFFECTS),
            tolerationSeconds=integer(),
        ),
        max_items=8,
    )


def _groups() -> Field:
    resource = obj(
        name=string(required=True),
        nominalQuota=quantity(required=True, minimum=0),
        borrowingLimit=quantity(minimum=0),
        lendingLimit=quantity(minimum=0),
    )
    flavor = obj(
        name=string(required=True),
        resources=required(list_of(resource, key="name", min_items=1, max_items=64)),
    )
    group = obj(
        coveredResources=required(list_of(string(), min_items=1, max_items=64)),
        flavors=required(list_of(flavor, key="name", min_items=1, max_items=64)),
    )
    return list_of(group, max_items=16)


def _fair_sharing() -> Field:
    return obj(weight=quantity(minimum=0, default="1"))


def _cluster_queue() -> Table:
    check = obj(name=string(required=True), onFlavors=list_of(string(), max_items=64))
    spec = obj(
        resourceGroups=_groups(),
        cohortName=string(renamed_from="cohort", max_length=253),
        queueingStrategy=string(enum=("StrictFIFO", "BestEffortFIFO"), default="BestEffortFIFO"),
        namespaceSelector=_selector(),
        flavorFungibility=but(
            obj(
                whenCanBorrow=string(
                    enum=("MayStopSearch", "TryNextFlavor"),
                    aliases={"Borrow": "MayStopSearch"},
                    default="MayStopSearch",
                ),
                whenCanPreempt=string(
                    enum=("MayStopSearch", "TryNextFlavor"),
                    aliases={"Preempt": "MayStopSearch"},
                    default="TryNextFlavor",
                ),
                preference=string(enum=("BorrowingOverPreemption", "PreemptionOverBorrowing")),
            ),
            default={},
        ),
        preemption=but(
            obj(
                reclaimWithinCohort=string(enum=("Never", "LowerPriority", "Any"), default="Never"),
                borrowWithinCohort=but(
                    obj(
                        policy=string(enum=("Never", "LowerPriority"), default="Never"),
                        maxPriorityThreshold=integer(),
                    ),
                    default={},
                ),
                withinClusterQueue=string(
                    enum=("Never", "LowerPriority", "LowerOrNewerEqualPriority"), default="Never"
                ),
            ),
            default={},
        ),
        admissionChecksStrategy=obj(admissionChecks=list_of(check, key="name", min_items=1, max_items=64)),
        admissionChecks=list_of(
            string(), until="v1beta1", note="write admissionChecksStrategy.admissionChecks"
        ),
        stopPolicy=string(enum=_STOP, default="None"),
        fairSharing=_fair_sharing(),
        admissionScope=obj(
            admissionMode=string(
                required=True, enum=("UsageBasedAdmissionFairSharing", "NoAdmissionFairSharing")
            )
        ),
        concurrentAdmissionPolicy=but(
            obj(
                migration=obj(
                    mode=string(enum=("TryPreferredFlavors", "RetainFirstAdmission")),
                    constraints=obj(lastAcceptableFlavorName=string()),
                )
            ),
            since="v1beta2",
        ),
    )
    return Table(GROUP, "ClusterQueue", VERSIONS, spec, deprecated=DEPRECATED, dead=DEAD)


def _cohort() -> Table:
    # v1alpha1 called it ``parent``; v1beta1 has parentName already (facts 1a).
    spec = obj(parentName=string(max_length=253), resourceGroups=_groups(), fairSharing=_fair_sharing())
    return Table(GROUP, "Cohort", VERSIONS, spec, deprecated=DEPRECATED, dead=DEAD)


def _local_queue() -> Table:
    spec = obj(
        clusterQueue=string(max_length=253),
        stopPolicy=string(enum=_STOP, default="None"),
        fairSharing=_fair_sharing(),
    )
    return Table(GROUP, "LocalQueue", VERSIONS, spec, namespaced=True, deprecated=DEPRECATED, dead=DEAD)


def _resource_flavor() -> Table:
    taint = obj(
        key=string(required=True),
        value=string(),
        effect=string(required=True, enum=_EFFECTS),
        timeAdded=string(),
    )
    spec = obj(
        nodeLabels=but(labels(), max_items=8),
        nodeTaints=list_of(taint, max_items=8),
        tolerations=_tolerations(),
        topologyName=string(),
    )
    return Table(GROUP, "ResourceFlavor", VERSIONS, spec, deprecated=DEPRECATED, dead=DEAD)


def _topology() -> Table:
    level = obj(nodeLabel=string(required=True, min_length=1, max_length=316))
    spec = obj(levels=required(list_of(level, key="nodeLabel", min_items=1, max_items=16)))
    return Table(GROUP, "Topology", VERSIONS, spec, deprecated=DEPRECATED, dead=DEAD)


def _admission_check() -> Table:
    parameters = obj(
        apiGroup=string(required=True, max_length=253),
        kind=string(required=True, max_length=63),
        name=string(required=True, max_length=63),
    )
    spec = obj(
        controllerName=string(required=True, min_length=1, max_length=153),
        retryDelayMinutes=integer(until="v1beta1", note="dead since 0.8; remove it"),
        parameters=parameters,
    )
    return Table(GROUP, "AdmissionCheck", VERSIONS, spec, deprecated=DEPRECATED, dead=DEAD)


def _provisioning_config() -> Table:
    spec = obj(
        provisioningClassName=string(required=True, max_length=253),
        parameters=but(map_of(string(max_length=255)), max_items=100),
        managedResources=list_of(string(), unique=True, max_items=100),
        retryStrategy=obj(
            backoffLimitCount=integer(default=3),
            backoffBaseSeconds=integer(default=60),
            backoffMaxSeconds=integer(default=1800),
        ),
        podSetUpdates=obj(
            nodeSelector=list_of(
                obj(
                    key=string(required=True),
                    valueFromProvisioningClassDetail=string(required=True),
                ),
                max_items=8,
            )
        ),
        podSetMergePolicy=string(enum=("IdenticalPodTemplates", "IdenticalWorkloadSchedulingRequirements")),
    )
    return Table(GROUP, "ProvisioningRequestConfig", VERSIONS, spec, deprecated=DEPRECATED, dead=DEAD)


def _multikueue_config() -> Table:
    spec = obj(
        clusters=required(list_of(string(), unique=True, min_items=1, max_items=20)),
        quotaManagement=string(enum=("Manual", "Automated"), since="v1beta2"),
    )
    return Table(GROUP, "MultiKueueConfig", VERSIONS, spec, deprecated=DEPRECATED, dead=DEAD)


def _kube_config() -> Field:
    return obj(
        location=string(required=True, min_length=1, max_length=256),
        locationType=string(enum=("Secret", "Path"), default="Secret"),
    )


def _multikueue_cluster() -> Table:
    spec = obj(
        clusterSource=but(
            obj(kubeConfig=_kube_config(), clusterProfileRef=obj(name=string(required=True))), since="v1beta2"
        ),
        kubeConfig=but(_kube_config(), until="v1beta1", note="write clusterSource.kubeConfig"),
    )
    return Table(GROUP, "MultiKueueCluster", VERSIONS, spec, deprecated=DEPRECATED, dead=DEAD)


def _priority_class() -> Table:
    fields = obj(
        value=required(integer(minimum=-(2**31), maximum=2**31 - 1)), description=string(max_length=2048)
    )
    return Table(
        GROUP, "WorkloadPriorityClass", VERSIONS, fields, whole=True, deprecated=DEPRECATED, dead=DEAD
    )


def _workload() -> Table:
    topology = obj(
        required=string(),
        preferred=string(),
        unconstrained=boolean(),
        podIndexLabel=string(),
        subGroupIndexLabel=string(),
        subGroupCount=integer(),
        podSetGroupName=string(),
        podSetSliceRequiredTopology=string(),
        podSetSliceSize=integer(),
        podsetSliceRequiredTopologyConstraints=but(
            list_of(obj(topology=string(required=True), size=integer(required=True))), since="v1beta2"
        ),
    )
    pod_set = obj(
        name=string(max_length=63),
        template=any_(required=True),
        count=integer(minimum=0, default=1),
        minCount=integer(minimum=1),
        topologyRequest=topology,
    )
    spec = obj(
        podSets=list_of(pod_set, key="name", min_items=1, max_items=18),
        queueName=string(),
        priorityClassRef=but(obj(group=string(), kind=string(), name=string()), since="v1beta2"),
        priorityClassName=string(until="v1beta1", note="write priorityClassRef"),
        priorityClassSource=string(until="v1beta1", note="write priorityClassRef"),
        priority=integer(),
        active=boolean(default=True),
        maximumExecutionTimeSeconds=integer(minimum=1),
        preemptionGates=list_of(obj(name=string(required=True)), key="name", since="v1beta2"),
    )
    return Table(GROUP, "Workload", VERSIONS, spec, namespaced=True, deprecated=DEPRECATED, dead=DEAD)


def _configuration() -> Table:
    wait = obj(
        enable=boolean(until="v1beta1", note="presence enables it; on by default since 0.19"),
        timeout=duration(),
        blockAdmission=boolean(),
        recoveryTimeout=duration(),
        requeuingStrategy=obj(
            timestamp=string(enum=("Eviction", "Creation")),
            backoffLimitCount=integer(minimum=0),
            backoffBaseSeconds=integer(minimum=0),
            backoffMaxSeconds=integer(minimum=0),
        ),
    )
    transformation = obj(
        input=string(required=True),
        strategy=string(enum=("Retain", "Replace"), default="Retain"),
        outputs=map_of(quantity()),
        multiplyBy=string(),
    )
    resources = obj(
        excludeResourcePrefixes=list_of(string()),
        quotaCheckStrategy=string(enum=("BlockUndeclared", "IgnoreUndeclared")),
        transformations=list_of(transformation, key="input"),
        deviceClassMappings=list_of(
            obj(
                name=string(required=True),
                deviceClassNames=list_of(string(), min_items=1, max_items=8),
                sources=any_(),
            ),
            key="name",
            max_items=16,
        ),
    )
    metrics = obj(
        bindAddress=string(),
        enableClusterQueueResources=boolean(default=False),
        localQueueMetrics=but(obj(enable=boolean(default=True), queueSelector=_selector()), open=True),
        customLabels=list_of(but(obj(name=string(), sourceKind=string()), open=True), max_items=20),
    )
    integrations = obj(
        frameworks=list_of(string()),
        externalFrameworks=list_of(string()),
        podOptions=any_(until="v1beta1", note="write managedJobsNamespaceSelector"),
        labelKeysToCopy=list_of(string()),
    )
    fields = obj(
        namespace=string(),
        health=any_(),
        webhook=any_(),
        leaderElection=any_(),
        controller=any_(),
        pprofBindAddress=string(),
        tls=any_(),
        cacheNamespaces=any_(),
        syncPeriod=duration(),
        gracefulShutDown=duration(),
        metrics=metrics,
        manageJobsWithoutQueueName=boolean(default=False),
        managedJobsNamespaceSelector=_selector(),
        internalCertManagement=any_(),
        waitForPodsReady=wait,
        clientConnection=obj(qps=number(), burst=integer()),
        integrations=integrations,
        queueVisibility=any_(until="v1beta1", note="gone; use the visibility API"),
        multiKueue=but(
            obj(
                gcInterval=duration(default="1m"),
                origin=string(default="multikueue"),
                workerLostTimeout=duration(default="15m"),
                dispatcherName=string(default="kueue.x-k8s.io/multikueue-dispatcher-all-at-once"),
                incrementalDispatcherConfig=obj(stepSize=integer(default=3)),
            ),
            open=True,
        ),
        fairSharing=obj(
            enable=boolean(until="v1beta1", note="presence enables it in v1beta2"),
            preemptionStrategies=list_of(
                string(enum=("LessThanOrEqualToFinalShare", "LessThanInitialShare"))
            ),
        ),
        admissionFairSharing=obj(
            usageHalfLifeTime=duration(), usageSamplingInterval=duration(), resourceWeights=map_of(number())
        ),
        resources=resources,
        featureGates=map_of(boolean()),
        objectRetentionPolicies=obj(
            workloads=obj(afterFinished=duration(), afterDeactivatedByKueue=duration())
        ),
        visibilityServer=any_(),
    )
    # The controller reads this file itself: groups of options that policycheck has no opinion on
    # are open, and a field unknown here is not said to be wrong.
    return Table(
        "config.kueue.x-k8s.io",
        "Configuration",
        VERSIONS,
        but(fields, open=True),
        whole=True,
        deprecated=DEPRECATED,
    )


def tables() -> dict[tuple[str, str], Table]:
    """Every table by (group, kind)."""
    made = (
        _cluster_queue(),
        _cohort(),
        _local_queue(),
        _resource_flavor(),
        _topology(),
        _admission_check(),
        _provisioning_config(),
        _multikueue_config(),
        _multikueue_cluster(),
        _priority_class(),
        _workload(),
        _configuration(),
    )
    return {(t.group, t.kind): t for t in made}
