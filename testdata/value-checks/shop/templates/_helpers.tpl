{{- define "shop.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{ .Values.fullnameOverride }}
{{- else -}}
{{ printf "%s-%s" .Release.Name (default .Chart.Name .Values.nameOverride) }}
{{- end -}}
{{- end -}}

{{- define "shop.labels" -}}
app: {{ include "shop.fullname" .context }}
{{- with .extra }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "shop.render" -}}
{{- $value := typeIs "string" .value | ternary .value (.value | toYaml) }}
{{- if contains "{{" $value }}{{ tpl $value .context }}{{ else }}{{ $value }}{{ end }}
{{- end -}}

{{- define "shop.probe" -}}
{{- if .probe.enabled }}
httpGet: {path: {{ .probe.path }}, port: http}
initialDelaySeconds: {{ .probe.initialDelaySeconds }}
periodSeconds: {{ .probe.periodSeconds }}
{{- end }}
{{- end -}}

{{- define "shop.storage.class" -}}
{{- coalesce .Values.persistence.storageClass (.Values.global).storageClass "standard" }}
{{- end -}}
{{- define "shop.storage.size" -}}
{{- .Values.persistence.size }}
{{- end -}}

{{- define "shop.serviceAccountName" -}}
{{- $account := .Values.serviceAccount -}}
{{- if $account.create }}{{ default (include "shop.fullname" .) $account.name }}{{ else }}{{ $account.name | default "default" }}{{ end }}
{{- end -}}
