{{- define "inner" -}}
{{ .Values.not.there }}
{{- end -}}
{{- define "outer" }}
a: {{ include "inner" . | quote }}
{{- end -}}
