{{- define "solar-operator.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "solar-operator.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 50 | trimSuffix "-" -}}
{{- else if contains (include "solar-operator.name" .) .Release.Name -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name (include "solar-operator.name" .) | trunc 50 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "solar-operator.selector" -}}
app.kubernetes.io/name: {{ include "solar-operator.name" . }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end -}}

{{- define "solar-operator.labels" -}}
{{ include "solar-operator.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end -}}

{{- /* Not the selector's: the Deployment's and its budget's pods are others. */ -}}
{{- define "solar-operator.preflightLabels" -}}
app.kubernetes.io/name: {{ include "solar-operator.fullname" . }}-preflight
app.kubernetes.io/instance: {{ .Release.Name | quote }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end -}}

{{- /* Egress of a NetworkPolicy to the API server and to DNS. */ -}}
{{- define "solar-operator.apiServerEgress" -}}
- ports:
    {{- range .Values.networkPolicy.apiServerPorts }}
    - {port: {{ . }}, protocol: TCP}
    {{- end }}
- ports:
    - {port: 53, protocol: UDP}
    - {port: 53, protocol: TCP}
{{- end -}}

{{- define "solar-operator.serviceAccount" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "solar-operator.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{- define "solar-operator.jobNamespace" -}}
{{- default .Release.Namespace .Values.jobNamespace -}}
{{- end -}}

{{- /* An image's reference: a list of the image's values and the chart's version. */ -}}
{{- define "solar-operator.image" -}}
{{- $image := index . 0 -}}
{{- if $image.digest -}}
{{- printf "%s@%s" $image.repository $image.digest -}}
{{- else -}}
{{- printf "%s:%s" $image.repository (default (index . 1) $image.tag) -}}
{{- end -}}
{{- end -}}

{{- /* What the operator does where RenderTasks and Jobs are. The ConfigMap is named, others can't be read. */ -}}
{{- define "solar-operator.rules.jobs" -}}
- apiGroups: [batch]
  resources: [jobs]
  verbs: [get, list, watch, create, delete]
- apiGroups: [""]
  resources: [pods]
  verbs: [list, watch]
# Never list or watch: both read what is in them.
- apiGroups: [""]
  resources: [secrets]
  verbs: [get, create, delete]
# Only a Job's events say why its pods can't be created: a quota, or admission.
- apiGroups: [""]
  resources: [events]
  verbs: [list]
{{- with .Values.renderer.caConfigMap }}
- apiGroups: [""]
  resources: [configmaps]
  resourceNames: [{{ . | quote }}]
  verbs: [get]
{{- end }}
{{- end -}}

{{- define "solar-operator.rules.events" -}}
- apiGroups: [events.k8s.io]
  resources: [events]
  verbs: [create]
{{- end -}}

{{- /* What it does with the tasks of one kind. */ -}}
{{- define "solar-operator.rules.tasks" -}}
- apiGroups: [solar.opendefense.cloud]
  resources: [{{ . }}]
  verbs: [get, list, watch]
- apiGroups: [solar.opendefense.cloud]
  resources: [{{ . }}/status]
  verbs: [patch]
# To own Jobs and Secrets in a way that blocks the task's deletion.
- apiGroups: [solar.opendefense.cloud]
  resources: [{{ . }}/finalizers]
  verbs: [update]
{{- end -}}

{{- /* What it does with the kinds of the pipeline, when that is switched on. */ -}}
{{- define "solar-operator.rules.pipeline" -}}
{{- if .Values.pipeline.enabled }}
- apiGroups: [solar.opendefense.cloud]
  resources:
    - componentversions
    - profiles
    - referencegrants
    - registries
    - registrybindings
    - releasebindings
    - releases
    - renderartifacts
    - renderbindings
    - targets
  verbs: [get, list, watch]
- apiGroups: [solar.opendefense.cloud]
  resources:
    - componentversions/status
    - profiles/status
    - registries/status
    - registrybindings/status
    - releasebindings/status
    - releases/status
    - renderartifacts/status
    - renderbindings/status
    - targets/status
  verbs: [patch]
# The charts that Targets use, and the tags that are deleted when none does.
- apiGroups: [solar.opendefense.cloud]
  resources: [renderartifacts, renderbindings]
  verbs: [create, patch, delete]
# The finalizer that keeps them while something refers to them.
- apiGroups: [solar.opendefense.cloud]
  resources: [componentversions, registries, releases]
  verbs: [patch]
# For the finalizer behind which a Target's RenderTasks are deleted.
- apiGroups: [solar.opendefense.cloud]
  resources: [targets]
  verbs: [patch]
# A Target's charts are rendered by RenderTasks in its Registry's namespace; failed ones are asked to run again.
- apiGroups: [solar.opendefense.cloud]
  resources: [rendertasks]
  verbs: [create, patch, delete]
# A Profile owns a ReleaseBinding for each Target that it matches.
- apiGroups: [solar.opendefense.cloud]
  resources: [releasebindings]
  verbs: [create, patch, delete]
- apiGroups: [solar.opendefense.cloud]
  resources: [profiles/finalizers]
  verbs: [update]
{{- end }}
{{- end -}}

{{- /* What it does with Artifacts, when they are switched on: their volumes are named, never listed. */ -}}
{{- define "solar-operator.rules.artifacts" -}}
{{- if .Values.artifacts.enabled }}
{{ include "solar-operator.rules.tasks" "artifacts" }}
- apiGroups: [""]
  resources: [persistentvolumeclaims]
  verbs: [get, create, delete]
{{- end }}
{{- end -}}

{{- /* What it does with ClusterStacks and ClusterAddons where Clusters are. */ -}}
{{- define "solar-operator.rules.clusterAddons" -}}
- apiGroups: [solar.opendefense.cloud]
  resources: [clusterstacks, clusteraddons]
  verbs: [get, list, watch]
- apiGroups: [solar.opendefense.cloud]
  resources: [clusterstacks/status, clusteraddons/status]
  verbs: [patch]
# A stack has an addon for each of its clusters.
- apiGroups: [solar.opendefense.cloud]
  resources: [clusteraddons]
  verbs: [create, patch, delete]
# To own the Secret of a seed in a way that blocks the addon's deletion.
- apiGroups: [solar.opendefense.cloud]
  resources: [clusteraddons/finalizers]
  verbs: [update]
- apiGroups: [cluster.x-k8s.io]
  resources: [clusters]
  verbs: [get, list, watch]
# What templates of values see.
- apiGroups: [controlplane.cluster.x-k8s.io, infrastructure.cluster.x-k8s.io]
  resources: ["*"]
  verbs: [get]
# Kubeconfigs, pull Secrets and public keys by name, and seeds. Never list or watch: both read what is in them.
- apiGroups: [""]
  resources: [secrets]
  verbs: [get, create]
{{ include "solar-operator.rules.events" . }}
{{- end -}}

{{- /* Whether the CRD of a kind is installed: a list of the root and the kind. */ -}}
{{- define "solar-operator.hasKind" -}}
{{- $values := (index . 0).Values -}}
{{- $kind := index . 1 -}}
{{- if has $kind (list "RenderTask" "ClusterRenderTask") -}}
true
{{- else if has $kind (list "ClusterStack" "ClusterAddon") -}}
{{- ternary "true" "" $values.clusterAddons.enabled -}}
{{- else if eq $kind "Artifact" -}}
{{- ternary "true" "" $values.artifacts.enabled -}}
{{- else -}}
{{- ternary "true" "" $values.pipeline.enabled -}}
{{- end -}}
{{- end -}}

{{- /* What it does with the pipeline outside of namespaces: no finalizer may keep one that is being deleted. */ -}}
{{- define "solar-operator.rules.namespaces" -}}
{{- if .Values.pipeline.enabled }}
- apiGroups: [""]
  resources: [namespaces]
  verbs: [list, watch]
{{- end }}
{{- end -}}

{{- /* A Role with its binding: a list of the root, a namespace, a name's end and rules. */ -}}
{{- define "solar-operator.role" -}}
{{- $root := index . 0 -}}
{{- $namespace := index . 1 -}}
{{- $name := printf "%s-%s" (include "solar-operator.fullname" $root) (index . 2) -}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: {{ $name }}
  namespace: {{ $namespace | quote }}
  labels:
    {{- include "solar-operator.labels" $root | nindent 4 }}
rules:
  {{- index . 3 | trim | nindent 2 }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: {{ $name }}
  namespace: {{ $namespace | quote }}
  labels:
    {{- include "solar-operator.labels" $root | nindent 4 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: Role
  name: {{ $name }}
subjects:
  - kind: ServiceAccount
    name: {{ include "solar-operator.serviceAccount" $root }}
    namespace: {{ $root.Release.Namespace | quote }}
{{- end -}}
