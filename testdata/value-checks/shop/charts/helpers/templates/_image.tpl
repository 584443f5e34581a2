{{- define "helpers.image" -}}
{{- $registry := (.global).imageRegistry | default .image.registry -}}
{{- $tag := .image.tag | default .chart.AppVersion | toString -}}
{{- if .image.digest -}}
{{ printf "%s/%s@%s" $registry .image.repository .image.digest }}
{{- else -}}
{{ printf "%s/%s:%s" $registry .image.repository $tag }}
{{- end -}}
{{- range .image.pullSecrets }}{{ . }}{{ end }}
{{- end -}}
