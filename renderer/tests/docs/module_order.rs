//! Modules import downward only, in the order of the list in `lib.rs`.

use std::path::{Path, PathBuf};

/// Files that may import upward.
const EXEMPT: [&str; 1] = [
    // Built for the fuzz targets alone: what they may reach of private modules.
    "oci/fuzzing.rs",
];

/// The modules in the order of the list: each name in backticks at the head of its lines.
fn order(lib: &str) -> Vec<String> {
    let items = lib.lines().filter_map(|line| line.strip_prefix("//! - "));
    let heads = items.filter_map(|item| item.split_once(": ").map(|(head, _)| head));
    let names = heads.flat_map(|head| head.split('`').skip(1).step_by(2));
    names
        .map(|name| name.trim_start_matches("mod@").to_owned())
        .collect()
}

/// Every file of the library that is no test, with its path below `src`.
fn files(src: &Path) -> Vec<(String, String)> {
    let (mut open, mut found) = (vec![src.to_owned()], Vec::new());
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path: PathBuf = entry.unwrap().path();
            let name = path.strip_prefix(src).unwrap().to_string_lossy().into_owned();
            if path.is_dir() {
                open.push(path);
            } else if name.ends_with(".rs") && !name.contains("test") {
                found.push((name, std::fs::read_to_string(&path).unwrap()));
            }
        }
    }
    found
}

/// The modules that a file's code names behind `crate::`, its tests and comments left out.
fn imports(text: &str) -> impl Iterator<Item = &str> {
    let code = text.split("#[cfg(test)]").next().unwrap_or_default();
    let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
    let after = lines.flat_map(|line| line.split("crate::").skip(1));
    after.map(|rest| {
        let end = rest.find(|one: char| !one.is_ascii_lowercase() && one != '_');
        &rest[..end.unwrap_or(rest.len())]
    })
}

/// What imports upward: file and module.
fn upward(order: &[String], name: &str, text: &str) -> Vec<String> {
    let rank = |module: &str| order.iter().position(|one| one == module);
    let module = name.split('/').next().unwrap().trim_end_matches(".rs");
    let Some(own) = rank(module) else {
        return Vec::new();
    };
    let above = imports(text).filter(|import| rank(import).is_some_and(|rank| rank < own));
    above.map(|import| format!("{name} imports {import}")).collect()
}

#[test]
fn modules_import_downward_only() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let order = order(&std::fs::read_to_string(src.join("lib.rs")).unwrap());
    let all = files(&src);
    let listed = |name: &str| order.iter().any(|one| one == name);
    let missing = all
        .iter()
        .map(|(name, _)| name.split('/').next().unwrap().trim_end_matches(".rs"));
    let missing: Vec<&str> = missing
        .filter(|name| !listed(name) && !["lib", "main"].contains(name))
        .collect();
    assert!(missing.is_empty(), "not in the list of lib.rs: {missing:?}");
    let wrong: Vec<String> = all
        .iter()
        .filter(|(name, _)| !EXEMPT.contains(&name.as_str()))
        .flat_map(|(name, text)| upward(&order, name, text))
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn an_import_from_above_is_found() {
    let order = ["cli", "oci", "world"].map(str::to_owned);
    let text = "use crate::world::World;\n// crate::cli\nfn f() { crate::cli::run() }\n#[cfg(test)]\nuse crate::cli::x;";
    assert_eq!(upward(&order, "oci/mod.rs", text), ["oci/mod.rs imports cli"]);
    assert_eq!(upward(&order, "cli/mod.rs", text), Vec::<String>::new());
}
