{{- /* The name of all objects. */}}
{{- define "parley.name" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 50 | trimSuffix "-" -}}
{{- else if contains .Chart.Name .Release.Name -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 50 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- /* Labels of every object. Objects of conversations have managed-by: parley instead, and are not part of the release. */}}
{{- define "parley.labels" -}}
app.kubernetes.io/name: parley
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{- /* Labels that select the pods of a part: (dict "root" . "part" "api"). They never change. */}}
{{- define "parley.selector" -}}
app.kubernetes.io/name: parley
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .part }}
{{- end -}}

{{- define "parley.image" -}}
{{ required "image.repository is required" .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}

{{- define "parley.workerAccount" -}}
{{ .Values.serviceAccount.existing | default (printf "%s-worker" (include "parley.name" .)) }}
{{- end -}}

{{- define "parley.sandboxNamespace" -}}
{{ .Values.sandbox.namespace | default .Release.Namespace }}
{{- end -}}

{{- /* The name of the SandboxWarmPool and its SandboxTemplate. */}}
{{- define "parley.warmPool" -}}
{{ include "parley.name" . }}-conversations
{{- end -}}

{{- define "parley.publicUrl" -}}
{{- if .Values.publicUrl -}}
{{ .Values.publicUrl }}
{{- else if .Values.ingress.enabled -}}
{{ if .Values.ingress.tlsSecret }}https{{ else }}http{{ end }}://{{ required "ingress.host is required" .Values.ingress.host }}
{{- end -}}
{{- end -}}

{{- /* The part of a pod spec that limits what its processes may do. */}}
{{- define "parley.podSecurity" -}}
runAsNonRoot: true
runAsUser: 1000
runAsGroup: 1000
fsGroup: 1000
seccompProfile:
  type: RuntimeDefault
{{- end -}}

{{- define "parley.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end -}}

{{- /* The variables that come from the Secret. */}}
{{- define "parley.secretEnv" -}}
{{- $secret := required "secret.name is required" .Values.secret.name -}}
- name: DATABASE_URL
  valueFrom: { secretKeyRef: { name: {{ $secret }}, key: {{ .Values.secret.databaseUrlKey }} } }
- name: PARLEY_SECRET_KEY
  valueFrom: { secretKeyRef: { name: {{ $secret }}, key: {{ .Values.secret.encryptionKeyKey }} } }
{{- end -}}

{{- /* The variables of a process: (dict "root" . "part" "api"). */}}
{{- define "parley.env" -}}
{{- $values := .root.Values -}}
{{ include "parley.secretEnv" .root }}
- name: SESSION_API_KEY
  valueFrom: { secretKeyRef: { name: {{ $values.secret.name }}, key: {{ $values.secret.ownerKeyKey }} } }
- name: POD_IP
  valueFrom: { fieldRef: { fieldPath: status.podIP } }
- name: PARLEY_NODE_URL
  value: http://$(POD_IP):3000
- name: PARLEY_ROLE
  value: {{ .part }}
- name: PARLEY_SANDBOX
  value: kubernetes
- name: PARLEY_KUBERNETES_IMAGE
  value: {{ required "sandbox.image is required" $values.sandbox.image | quote }}
- name: PARLEY_KUBERNETES_NAMESPACE
  value: {{ include "parley.sandboxNamespace" .root }}
{{- with $values.sandbox.runtimeClass }}
- name: PARLEY_KUBERNETES_RUNTIME_CLASS
  value: {{ . | quote }}
{{- end }}
- name: PARLEY_KUBERNETES_AGENT_SANDBOX
  value: {{ ternary "on" "off" $values.sandbox.agentSandbox | quote }}
{{- if gt (int $values.sandbox.warmPool.replicas) 0 }}
- name: PARLEY_KUBERNETES_WARM_POOL
  value: {{ include "parley.warmPool" .root }}
{{- end }}
{{- with $values.sandbox.volumes.size }}
- name: PARLEY_KUBERNETES_VOLUMES
  value: {{ . | quote }}
{{- end }}
{{- with $values.sandbox.volumes.storageClass }}
- name: PARLEY_KUBERNETES_STORAGE_CLASS
  value: {{ . | quote }}
{{- end }}
{{- with include "parley.publicUrl" .root }}
- name: PARLEY_PUBLIC_URL
  value: {{ . | quote }}
{{- end }}
{{- with $values.trustProxy }}
- name: PARLEY_TRUST_PROXY
  value: {{ . | quote }}
{{- end }}
{{- with $values.snapshots }}
- name: PARLEY_SNAPSHOTS
  value: {{ . | quote }}
{{- end }}
{{- if $values.metrics.enabled }}
- name: PARLEY_METRICS_HOST
  value: 0.0.0.0
- name: PARLEY_METRICS_PORT
  value: {{ $values.metrics.port | quote }}
{{- end }}
{{- range $name, $value := $values.config }}
- name: {{ $name }}
  value: {{ $value | toString | quote }}
{{- end }}
{{- with $values.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- /* What containers of api and worker have in common: (dict "root" . "part" "api"). */}}
{{- define "parley.container" -}}
image: {{ include "parley.image" .root | quote }}
imagePullPolicy: {{ .root.Values.image.pullPolicy }}
securityContext:
  {{- include "parley.containerSecurity" .root | nindent 2 }}
ports:
  - name: http
    containerPort: 3000
  {{- if .root.Values.metrics.enabled }}
  - name: metrics
    containerPort: {{ .root.Values.metrics.port }}
  {{- end }}
# A database that cannot be reached makes a pod unready, but is no reason to restart it.
startupProbe:
  httpGet: { path: /alive, port: http }
  periodSeconds: 2
  failureThreshold: 60
livenessProbe:
  httpGet: { path: /alive, port: http }
  periodSeconds: 10
  timeoutSeconds: 5
readinessProbe:
  httpGet: { path: /ready, port: http }
  periodSeconds: 2
  timeoutSeconds: 5
volumeMounts:
  - { name: data, mountPath: /data }
  - { name: tmp, mountPath: /tmp }
{{- end -}}

{{- /* The rest of a pod spec: (dict "root" . "values" .Values.api). */}}
{{- define "parley.pod" -}}
securityContext:
  {{- include "parley.podSecurity" .root | nindent 2 }}
{{- with .root.Values.imagePullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
{{- end }}
# Nothing in these folders must outlive the pod: PostgreSQL and the snapshots have all state.
volumes:
  - { name: data, emptyDir: {} }
  - { name: tmp, emptyDir: {} }
{{- with .values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}
