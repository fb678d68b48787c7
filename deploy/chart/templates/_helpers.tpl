{{- define "policycheck.labels" -}}
app.kubernetes.io/name: policycheck
app.kubernetes.io/part-of: policycheck
{{- end }}

{{- define "policycheck.meta" -}}
name: {{ .name }}
namespace: {{ .root.Release.Namespace }}
labels:
  {{- include "policycheck.labels" .root | nindent 2 }}
{{- end }}

{{- define "policycheck.everywhere" -}}
name: {{ .name }}
labels:
  {{- include "policycheck.labels" .root | nindent 2 }}
{{- end }}

{{- define "policycheck.image" -}}
{{ .Values.image | default (printf "ghcr.io/policycheck/policycheck:%s" .Chart.AppVersion) }}
{{- end }}

{{- define "policycheck.pod" -}}
automountServiceAccountToken: true
enableServiceLinks: false
securityContext:
  runAsNonRoot: true
  runAsUser: 65532
  runAsGroup: 65532
  fsGroup: 65532
  seccompProfile:
    type: RuntimeDefault
{{- end }}

{{- define "policycheck.container" -}}
image: {{ include "policycheck.image" . }}
env:
  - name: POLICYCHECK_CACHE_DIR
    value: /tmp/policycheck
  - name: POD_NAMESPACE
    valueFrom:
      fieldRef:
        fieldPath: metadata.namespace
  - name: POLICYCHECK_SCHEDULER_NAMESPACE
    value: {{ .Values.schedulerNamespace | quote }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities:
    drop: [ALL]
resources:
  requests:
    cpu: 200m
    memory: {{ .Values.memory }}
  limits:
    cpu: "2"
    memory: {{ .Values.memory }}
{{- end }}

{{- define "policycheck.config" -}}
{{- if .Values.settings }}
- --config
- /etc/policycheck/policycheck.yaml
{{- end }}
{{- end }}

{{- define "policycheck.mounts" -}}
- name: tmp
  mountPath: /tmp
{{- if .Values.settings }}
- name: settings
  mountPath: /etc/policycheck
  readOnly: true
{{- end }}
{{- end }}

{{- define "policycheck.volumes" -}}
- name: tmp
  emptyDir:
    sizeLimit: 256Mi
{{- if .Values.settings }}
- name: settings
  configMap:
    name: policycheck-settings
{{- end }}
{{- end }}
