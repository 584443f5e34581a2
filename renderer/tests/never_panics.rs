//! Whatever the text: an answer or a diagnostic, never a panic, never without end.
#![allow(
    clippy::unwrap_used,
    clippy::too_many_lines,
    reason = "a test that can't go on should stop; a list of words is long"
)]

use std::path::Path;

use proptest::prelude::*;
use solar_render::chart::{archive, metadata};
use solar_render::source::Source;
use solar_render::value::Value;
use solar_render::{blueprint, config};

const RELEASE: &str = include_str!("../../testdata/release.yaml");

/// A good config with a few bytes of damage: deeper in than any random text gets.
fn damaged() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        "\\PC{0,6}",
        prop::sample::select(vec![
            "\n",
            "\t",
            ": ",
            "- ",
            "{",
            "}",
            "[",
            "]",
            "&a ",
            "*a",
            "!!str ",
            "|\n",
            ">-\n",
            "\"",
            "'",
            "#",
            "---\n",
            "<<: ",
            "~",
            "? ",
            "\u{0}",
            "\u{feff}",
            "\r",
            "null",
            "1e999",
            "99999999999999999999",
            "!!binary =",
            "%YAML 1.2\n",
            "...\n",
        ])
        .prop_map(str::to_owned),
    ];
    prop::collection::vec((any::<prop::sample::Index>(), 0_usize..8, piece), 1..6).prop_map(|edits| {
        edits
            .into_iter()
            .fold(RELEASE.to_owned(), |mut text, (at, cut, piece)| {
                let start = text.floor_char_boundary(at.index(text.len() + 1));
                let end = text.floor_char_boundary((start + cut).min(text.len())).max(start);
                text.replace_range(start..end, &piece);
                text
            })
    })
}

/// Words of the template language in any order.
fn template() -> impl Strategy<Value = String> {
    let word = prop::sample::select(vec![
        "<<",
        ">>",
        "<%",
        "%>",
        "<#",
        "#>",
        "<%-",
        "-%>",
        " if ",
        " for x in ",
        " endfor ",
        " endif ",
        " else ",
        " set x = ",
        " macro f(a) ",
        " endmacro ",
        "input",
        "chart",
        ".name",
        "[0]",
        "[1:2:0]",
        "| literal",
        "| literal(indent=2)",
        "| literal(indent=-1)",
        "| toYaml",
        "| toJson",
        "| indent(99)",
        "| join",
        "| sort",
        "| round(9)",
        "(",
        ")",
        "1",
        "-1",
        "\"a\"",
        "'",
        "{",
        "}",
        "{{",
        "}}",
        " + ",
        " * ",
        " ** ",
        " // ",
        " % ",
        " ~ ",
        " in ",
        "range(9)",
        " include 'text.jinja' ",
        " import 'x' as y ",
        " extends 'x' ",
        " block a ",
        " endblock ",
        " raw ",
        " endraw ",
        "\n",
        "none",
        "true",
        "9223372036854775807",
        " loop.index ",
        " recursive ",
        " call f(1) ",
        " endcall ",
        " filter upper ",
        " endfilter ",
        " autoescape true ",
        "é",
    ]);
    prop::collection::vec(word, 0..24).prop_map(|words| words.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn any_text_as_a_config(text in "\\PC{0,200}|(\\PC|\n|\t){0,200}") {
        let _ = config::parse(&Source::new("t", text));
    }

    #[test]
    fn a_damaged_config(text in damaged()) {
        match config::parse(&Source::new("t", text)) {
            Ok(config) => {
                let chart = blueprint::render(&config, Path::new("/nonexistent")).unwrap();
                prop_assert!(!chart.files.is_empty());
            }
            Err(problem) => for one in problem.iter() {
                prop_assert!(one.location.is_some() && !one.message.is_empty(), "{one}");
            },
        }
    }

    #[test]
    fn any_text_as_a_template(text in template()) {
        let input = Value::empty_map();
        let _ = blueprint::render_text(&text, &input);
    }

    #[test]
    fn any_text_as_chart_yaml(text in "(name|version|apiVersion|dependencies|maintainers|annotations|keywords|: |- |\n|\\[|\\]|\\{|\\}|[a-z0-9.~\"'])*") {
        let _ = metadata::parse(&Source::new("Chart.yaml", text));
    }

    #[test]
    fn any_bytes_as_an_archive(bytes in prop::collection::vec(any::<u8>(), 0..400), gzip in any::<bool>()) {
        let bytes = if gzip {
            let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            std::io::Write::write_all(&mut encoder, &bytes).unwrap();
            encoder.finish().unwrap()
        } else {
            bytes
        };
        prop_assert!(archive::inspect_reader(bytes.as_slice(), "x").is_err());
    }
}

/// What is hostile on purpose: each ends soon, with a diagnostic or a small text. Memory
/// is not bounded, as it isn't in Helm's templates: a blueprint is its user's own code.
#[test]
fn hostile_templates_end() {
    let deep = format!("<< {}1{} >>", "(".repeat(20_000), ")".repeat(20_000));
    let lists = format!("<< {}{} >>", "[".repeat(20_000), "]".repeat(20_000));
    let ifs = "<% if true %>".repeat(20_000);
    let elifs = format!("<% if 0 %>{}<% endif %>", "<% elif 0 %>".repeat(9_000));
    let within = |piece: &str| format!("<< {}1 >>", piece.repeat(8_000 / piece.len()));
    let chains = ["not ", "-", "1~", "1+", "[", "{1:"].map(within);
    let filters = format!("<< 1{} >>", "|string".repeat(1_000));
    let attributes = format!("<< input{} >>", ".a".repeat(4_000));
    for text in [
        "<% for a in range(99999) %><% for b in range(99999) %><% endfor %><% endfor %>",
        "<% macro f() %><< f() >><% endmacro %><< f() >>",
        "<% include 'text.jinja' %>",
        "<% import 'text.jinja' as x %>",
        "<% extends 'text.jinja' %>",
        "<% set x = 'aaaaaaaaaa' * 100000 %><% for a in range(10000) %><< x >><% endfor %>",
        "<< range(1000000000) | list | length >>",
        "<< ('a' * 1000000) | indent(1000000) >>",
        "<< 9 ** 999999999 >>",
        &deep,
        &lists,
        &ifs,
        &elifs,
        &filters,
        &attributes,
        "<% set ns = namespace(x=[1]) %><% for a in range(30) %><% for b in range(9999) %><% set ns.x = [ns.x] %><% endfor %><% endfor %>",
        "<% set ns = namespace(x=[1]) %><% for a in range(9999) %><% set ns.x = [ns.x] %><% endfor %><< ns.x | toJson >>",
        "<% set ns = namespace(x=[1]) %><% for a in range(9999) %><% set ns.x = [ns.x] %><% endfor %><< ns.x == ns.x >>",
        "<% set ns = namespace(x=[1]) %><% for a in range(40) %><% set ns.x = [ns.x, ns.x] %><% endfor %><< ns.x | toJson >>",
        "<< 'a' | literal(indent=100000000000) >>",
        "<< 'a\nb' | indent(999999999999999) >>",
        "<< '%999999999999999d' | format(1) >>",
        "<% set ns = namespace() %><% set ns.a = ns %><< ns >>",
        "<< [1] | batch(99999999999, 1) >>",
    ]
    .into_iter()
    .chain(chains.iter().map(String::as_str))
    {
        let _ = blueprint::render_text(text, &Value::empty_map());
    }
}
