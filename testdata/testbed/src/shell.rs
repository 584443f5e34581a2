//! What shells complete, asked from a real one on a terminal of its own.

use std::path::Path;
use std::process::Command;

/// Draws each line in an interactive zsh, presses Tab, and prints what stands there then.
const ZSH: &str = r#"
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell 'PROMPT=; unsetopt beep; autoload -Uz compinit; compinit -u -D; source '${(q)1}'; shown() { print -rn -- "<$BUFFER>"; BUFFER= }; zle -N shown; bindkey "^X" shown; bindkey "^I" complete-word; print -r -- rea""dy'
zpty -r -m shell out '*ready*'
for line in "${@:2}"; do
  zpty -w -n shell "$line"$'\t\x18'
  zpty -r -m shell out '*<*>*'
  print -r -- "${${out##*<}%%>*}"
done
zpty -d shell
"#;

/// What zsh makes of each line when Tab is pressed at its end, with a completion script.
pub fn zsh_completes(script: &Path, lines: &[&str]) -> Vec<String> {
    let output = Command::new("zsh")
        .args(["-f", "-c", ZSH, "zsh"])
        .arg(script)
        .args(lines)
        .output()
        .expect("zsh is needed: apt-get install zsh");
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(|line| line.trim_end().to_owned()).collect()
}
