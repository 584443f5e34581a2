{{- define "lib.name" }}{{ .Release.Name }}-{{ .Chart.Name }}{{ end -}}
{{- define "lib.block" -}}
block: {{ .who }}
{{- end -}}
