//! Tables as Helm prints them: columns padded to their widest cell, separated by tabs.

/// Formats the rows; a cell of more than `most` characters ends in `...`, 0 for any number.
pub(crate) fn table<const N: usize>(rows: &[[&str; N]], most: usize) -> String {
    let width = |column: usize| {
        let widest = rows
            .iter()
            .filter_map(|row| row.get(column))
            .map(|cell| cell.chars().count())
            .max();
        widest.map_or(0, |widest| if most == 0 { widest } else { widest.min(most) })
    };
    let mut out = String::new();
    for row in rows {
        let cells = row
            .iter()
            .enumerate()
            .map(|(column, cell)| fitted(cell, width(column)));
        out.push_str(&cells.collect::<Vec<_>>().join("\t"));
        out.push('\n');
    }
    out
}

/// A cell that is padded, or truncated with `...`; at least one character is kept.
fn fitted(cell: &str, width: usize) -> String {
    let count = cell.chars().count();
    if count <= width {
        return format!("{cell}{}", " ".repeat(width - count));
    }
    let kept = width.saturating_sub(3).max(1);
    format!("{}...", cell.chars().take(kept).collect::<String>())
}
