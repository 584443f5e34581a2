{{- define "good.name" }}good{{ end }}
