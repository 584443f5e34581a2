{{- define "sub.name" }}{{ .Chart.Name }} {{ .Values.color }} {{ .Values.size }} {{ .Values.global.region }}{{ end -}}
{{- define "sub.template" }}{{ .Template.Name }}|{{ .Template.BasePath }}{{ end -}}
