//! What is hostile on purpose ends soon, with a diagnostic: never a panic, never a full stack.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use solar_render::diag::Class;
use solar_render::engine::{Limits, ParsedChart, RenderRequest};
use solar_render::value::Value;
use solar_render::world::World;

use crate::support::{render_limited, render_within};

/// Enough to reach every other limit, and soon over.
const STEPS: u64 = 20_000_000;

fn refused(text: &str) -> String {
    let shown: String = text.chars().take(60).collect();
    match render_within(text, &Value::empty_map(), STEPS) {
        Ok(out) => panic!("{shown}: rendered {} bytes", out.len()),
        Err(problem) => problem.iter().next().unwrap().message.clone(),
    }
}

#[test]
fn endless_calls_are_refused() {
    let include = r#"{{ define "a" }}{{ include "a" . }}{{ end }}{{ include "a" . }}"#;
    assert!(refused(include).contains("nested reference name"));
    let template = r#"{{ define "a" }}{{ template "a" . }}{{ end }}{{ template "a" . }}"#;
    assert!(refused(template).contains("exceeded maximum template depth (4000)"));
    let two = r#"{{ define "a" }}{{ include "b" . }}{{ end }}{{ define "b" }}{{ include "a" . }}{{ end }}{{ include "a" . }}"#;
    assert!(refused(two).contains("nested reference name"));
    let many = (0..9_000).fold(String::new(), |text, number| {
        let next = number + 1;
        format!(r#"{text}{{{{ define "t{number}" }}}}{{{{ include "t{next}" . }}}}{{{{ end }}}}"#)
    });
    assert!(refused(&format!(r#"{many}{{{{ include "t0" . }}}}"#)).contains("more than 4000 deep"));
    let tpl = r#"{{ $t := "{{ tpl .t . }}" }}{{ tpl $t (dict "t" $t) }}"#;
    assert!(refused(tpl).contains("more than 4000 deep"));
}

#[test]
fn endless_loops_are_refused() {
    let loops = "{{ range 100000 }}{{ range 100000 }}{{ end }}{{ end }}";
    assert!(refused(loops).contains("takes more than"));
    let one = "{{ range 9223372036854775807 }}{{ end }}";
    assert!(refused(one).contains("takes more than"));
}

#[test]
fn texts_and_lists_that_double_are_refused() {
    let text = r#"{{ $x := "aaaaaaaa" }}{{ range 60 }}{{ $x = print $x $x }}{{ end }}"#;
    assert!(refused(text).contains("more than 268435456 bytes"));
    let printed = r#"{{ define "a" }}{{ . }}{{ . }}{{ end }}{{ $x := "aaaaaaaa" }}{{ range 60 }}{{ $x = include "a" $x }}{{ end }}"#;
    assert!(refused(printed).contains("more than 268435456 bytes"));
}

#[test]
fn deep_texts_are_refused() {
    let parentheses = format!("{{{{ {}1{} }}}}", "(".repeat(50_000), ")".repeat(50_000));
    assert!(refused(&parentheses).contains("max expression depth exceeded"));
    for action in ["{{ if 1 }}", "{{ with 1 }}", "{{ range 1 }}"] {
        assert!(
            refused(&action.repeat(50_000)).contains("more than 1000 deep"),
            "{action}"
        );
    }
    let chain = format!("{{{{ if 1 }}}}{}{{{{ end }}}}", "{{ else if 1 }}".repeat(50_000));
    assert!(refused(&chain).contains("more than 1000 deep"));
}

#[test]
fn values_that_hold_themselves_are_no_end() {
    let own = r#"{{ $d := dict }}{{ $_ := set $d "d" $d }}"#;
    let uses = [
        "{{ $d }}",
        "{{ printf \"%#v\" $d }}",
        "{{ toYaml $d }}",
        "{{ toJson $d }}",
        "{{ deepCopy $d }}",
        "{{ deepEqual $d $d }}",
    ];
    for usage in uses {
        // An answer or a diagnostic; Go would fill its stack.
        let _ = render_within(&format!("{own}{usage}"), &Value::empty_map(), STEPS);
    }
}

#[test]
fn lists_that_are_copied_again_and_again_are_refused() {
    let text = "{{ $d := list }}{{ range 200000 }}{{ $d = append $d 1 }}{{ end }}{{ len $d }}";
    assert!(refused(text).contains("takes more than"));
}

#[test]
fn values_that_hold_others_twice_are_refused_where_they_would_be_walked_over() {
    let maps = r#"{{ $x := dict "a" 1 }}{{ $y := dict "a" 1 }}{{ range 60 }}{{ $x = dict "l" $x "r" $x }}{{ $y = dict "l" $y "r" $y }}{{ end }}"#;
    let lists = r#"{{ $x := list 1 }}{{ range 60 }}{{ $x = list $x $x }}{{ end }}"#;
    for (values, walk) in [
        (maps, "deepCopy $x"),
        (maps, "deepEqual $x $y"),
        (maps, "merge $x $y"),
        (lists, "deepCopy $x"),
        (lists, r#"toToml (dict "a" $x)"#),
    ] {
        let message = refused(&format!("{values}{{{{ {walk} }}}}"));
        assert!(message.contains("parts"), "{walk}: {message}");
    }
    let message = refused(&format!("{lists}{{{{ toYaml $x }}}}"));
    assert!(message.contains("bytes"), "{message}");
}

/// Charts that use the next one four times each, so many of them in each other.
fn aliased(levels: usize) -> ParsedChart {
    let files = (0..=levels).map(|level| {
        let folder = (1..=level).fold(String::new(), |folder, level| format!("{folder}charts/c{level}/"));
        let next = level + 1;
        let uses: String = (0..4)
            .filter(|_| level < levels)
            .map(|alias| format!("- {{name: c{next}, version: 1.0.0, alias: a{alias}}}\n"))
            .collect();
        let yaml = format!("apiVersion: v2\nname: c{level}\nversion: 1.0.0\ndependencies:\n{uses}");
        (format!("{folder}Chart.yaml"), yaml.into_bytes())
    });
    ParsedChart::from_files(files.collect()).unwrap()
}

/// Nine levels once took 4.8 GiB.
#[test]
fn subcharts_under_many_aliases_are_counted() {
    assert!(aliased(5).render(&RenderRequest::new("r")).is_ok());
    let problem = aliased(12).render(&RenderRequest::new("r")).err().unwrap();
    assert!(
        problem.to_string().contains("more than 10000 charts"),
        "{problem}"
    );
}

/// Each took gigabytes, or ended in SIGABRT.
#[test]
fn values_that_fill_the_memory_are_refused() {
    const MEMORY: usize = 16 << 20;
    let limits = || {
        let mut limits = Limits::default();
        limits.memory = MEMORY;
        limits.clock = Arc::new(solar_render::world::Fixed::default());
        limits
    };
    let big = r#"{{ $x := repeat 100000 "0123456789" }}"#;
    for text in [
        // Texts that are kept.
        r#"{{ $l := list }}{{ range 1000 }}{{ $l = append $l (print $x .) }}{{ end }}"#,
        r#"{{ $d := dict }}{{ range 1000 }}{{ $_ := set $d (toString .) (print $x .) }}{{ end }}"#,
        r#"{{ $d := dict }}{{ range 1000 }}{{ $_ := set $d (print $x .) . }}{{ end }}"#,
        // One text made of another, many times.
        r#"{{ $l := list }}{{ range 100 }}{{ $l = append $l $x }}{{ end }}{{ toYaml $l }}"#,
        r#"{{ $l := list }}{{ range 100 }}{{ $l = append $l $x }}{{ end }}{{ toStrings (list $l $l $l) }}"#,
        r#"{{ $l := list }}{{ range 100 }}{{ $l = append $l $x }}{{ end }}{{ printf "%v" $l }}"#,
        r#"{{ printf "%[1]s%[1]s%[1]s%[1]s%[1]s%[1]s%[1]s%[1]s%[1]s%[1]s%[1]s%[1]s%[1]s%[1]s%[1]s%[1]s%[1]s%[1]s" $x }}"#,
        r#"{{ range 100 }}{{ $x }}{{ end }}"#,
        // Lists and maps.
        r#"{{ $l := list }}{{ range 1000 }}{{ $l = append $l (until 10000) }}{{ end }}"#,
        r#"{{ $d := dict }}{{ range 200000 }}{{ $_ := set $d (toString .) "" }}{{ end }}"#,
    ] {
        let problem = render_limited(&format!("{big}{text}"), limits()).unwrap_err();
        let one = problem.iter().next().unwrap();
        assert!(
            one.message.contains("16777216 bytes of memory"),
            "{text}: {problem}"
        );
        assert_eq!((one.class, one.hints.len()), (Class::Template, 1), "{text}");
    }
    // What is dropped counts no more.
    let dropped = r#"{{ range 100 }}{{ $y := print $x . }}{{ $z := until 10000 }}{{ end }}"#;
    assert_eq!(render_limited(&format!("{big}{dropped}"), limits()).unwrap(), "");
}

#[test]
fn lists_of_pieces_have_at_most_so_many_items() {
    let big = r#"{{ $x := repeat 1100000 "a," }}"#;
    for text in [
        r#"{{ splitList "" $x }}"#,
        r#"{{ splitList "," $x }}"#,
        r#"{{ split "," $x }}"#,
    ] {
        assert!(
            refused(&format!("{big}{text}")).contains("more than 1000000 items"),
            "{text}"
        );
    }
}

#[test]
fn steps_are_weighed_by_their_work() {
    let hashes =
        r#"{{ $x := repeat 1000000 "0123456789" }}{{ range 1000 }}{{ $_ := sha256sum $x }}{{ end }}"#;
    assert!(refused(hashes).contains("takes more than"));
    let passwords = r#"{{ range 1000 }}{{ $_ := bcrypt "a" }}{{ end }}"#;
    assert!(refused(passwords).contains("takes more than"));
}

/// A clock that advances by a second at each reading.
struct Ticking(AtomicU64);

impl World for Ticking {
    fn env(&self, _: &str) -> Option<String> {
        None
    }

    fn now(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH
    }

    fn uptime(&self) -> Duration {
        Duration::from_secs(self.0.fetch_add(1, Ordering::Relaxed))
    }

    fn entropy(&self) -> u64 {
        0
    }
}

#[test]
fn a_rendering_ends_when_its_time_is_over() {
    let limits = |seconds| {
        let mut limits = Limits::default();
        limits.time = Duration::from_secs(seconds);
        limits.clock = Arc::new(Ticking(AtomicU64::new(0)));
        limits
    };
    let text = "{{ range 1000000 }}{{ end }}";
    let problem = render_limited(text, limits(5)).unwrap_err();
    let one = problem.iter().next().unwrap();
    assert!(
        one.message.contains("the rendering takes longer than 5s"),
        "{problem}"
    );
    assert_eq!((one.class, one.hints.len()), (Class::Template, 1));
    assert!(one.location.is_some());
    render_limited(text, limits(100)).unwrap();
    // Also within one function.
    let uniq = r#"{{ $l := list }}{{ range 1000 }}{{ $l = append $l (list .) }}{{ end }}{{ uniq $l }}"#;
    let problem = render_limited(uniq, limits(4)).unwrap_err();
    assert!(
        problem
            .to_string()
            .contains("uniq: the rendering takes longer than 4s"),
        "{problem}"
    );
}
