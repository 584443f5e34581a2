{{- define "h" }}{{ tpl .Values.nested . | upper }}{{ end -}}
{{- define "render" -}}
{{- if kindIs "string" .value }}{{ tpl .value .ctx }}{{ else }}{{ tpl (toYaml .value) .ctx }}{{ end -}}
{{- end -}}
