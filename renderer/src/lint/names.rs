//! Names of objects, as the API server validates them (k8s.io/apimachinery 0.37).

use crate::template::print::quote;

const LABEL: &str = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const SUBDOMAIN: &str = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*";
const LABEL_1035: &str = "[a-z]([-a-z0-9]*[a-z0-9])?";

/// Helm's message about an object's name; `None` if it is valid.
pub(crate) fn check(kind: &str, name: &str) -> Option<String> {
    let problems = match kind.to_lowercase().as_str() {
        "service" => label_1035(name),
        "namespace" => label(name),
        "certificatesigningrequest" => Vec::new(),
        "role" | "clusterrole" | "rolebinding" | "clusterrolebinding" => path_segment(name),
        _ => subdomain(name),
    };
    let shown = quote(name);
    let problems: Vec<String> = problems
        .iter()
        .map(|problem| format!("metadata.name: Invalid value: {shown}: {problem}"))
        .collect();
    let all = match problems.as_slice() {
        [] => return None,
        [one] => one.clone(),
        // An aggregate error has each message once.
        many => {
            let mut once: Vec<&str> = Vec::new();
            for one in many {
                if !once.contains(&one.as_str()) {
                    once.push(one);
                }
            }
            format!("[{}]", once.join(", "))
        }
    };
    Some(format!(
        "object name does not conform to Kubernetes naming requirements: {shown}: {all}"
    ))
}

fn too_long(limit: usize) -> String {
    format!("must be no more than {limit} characters")
}

fn subdomain(name: &str) -> Vec<String> {
    let mut out = Vec::new();
    if name.len() > 253 {
        out.push(too_long(253));
    }
    if !is_subdomain(name) {
        out.push(format!(
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and \
             must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is \
             '{SUBDOMAIN}')"
        ));
    }
    out
}

fn label(name: &str) -> Vec<String> {
    let mut out = Vec::new();
    if name.len() > 63 {
        out.push(too_long(63));
    }
    if is_label(name) {
        return out;
    }
    out.push(if is_subdomain(name) {
        "must not contain dots".to_owned()
    } else {
        format!(
            "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start \
             and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is \
             '{LABEL}')"
        )
    });
    out
}

fn label_1035(name: &str) -> Vec<String> {
    let mut out = Vec::new();
    if name.len() > 63 {
        out.push(too_long(63));
    }
    if !(is_label(name) && name.starts_with(|first: char| first.is_ascii_lowercase())) {
        out.push(format!(
            "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic \
             character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for \
             validation is '{LABEL_1035}')"
        ));
    }
    out
}

fn path_segment(name: &str) -> Vec<String> {
    if matches!(name, "." | "..") {
        return vec![format!("may not be '{name}'")];
    }
    let contained = ["/", "%"].into_iter().filter(|part| name.contains(part));
    contained
        .map(|part| format!("may not contain '{part}'"))
        .collect()
}

fn is_label(text: &str) -> bool {
    let alphanumeric = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let bytes = text.as_bytes();
    let edge = |byte: Option<&u8>| byte.is_some_and(|byte| alphanumeric(*byte));
    edge(bytes.first()) && edge(bytes.last()) && bytes.iter().all(|byte| alphanumeric(*byte) || *byte == b'-')
}

fn is_subdomain(text: &str) -> bool {
    text.split('.').all(is_label)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_checked_by_kind() {
        let fine = [
            ("Pod", "a.b-c"),
            ("Service", "a-1"),
            ("Namespace", "1a"),
            ("CertificateSigningRequest", "Any Thing"),
            ("ClusterRole", "system:a"),
            ("RoleBinding", ""),
            ("Anything", "a.b"),
        ];
        for (kind, name) in fine {
            assert_eq!(check(kind, name), None, "{kind} {name}");
        }
        let wrong = [
            ("Pod", "a_b", "RFC 1123 subdomain"),
            ("Pod", "a..b", "RFC 1123 subdomain"),
            ("Service", "1a", "DNS-1035"),
            ("service", "a.b", "DNS-1035"),
            ("Namespace", "a.b", "must not contain dots"),
            ("Namespace", "a-", "RFC 1123 label"),
            ("Role", ".", "may not be '.'"),
            ("Role", "a/%", "may not contain '/', metadata.name"),
            ("", "", "RFC 1123 subdomain"),
        ];
        for (kind, name, part) in wrong {
            let found = check(kind, name).unwrap_or_default();
            assert!(found.contains(part), "{kind} {name}: {found}");
        }
        let long = "a".repeat(300);
        assert!(check("Pod", &long).is_some_and(|found| found.contains("no more than 253")));
        assert!(check("Service", &long).is_some_and(|found| found.contains("no more than 63")));
    }
}
