//! Plots of measurements, as SVG that follows the reader's light or dark theme.
//!
//! In: series of points. Out: one file in the folder that the variable PLOTS names; nothing without it. The y axis is
//! logarithmic, the x axis optionally: a straight line is then a power law, with the exponent as its slope.

use std::ops::Range;
use std::path::{Path, PathBuf};

use plotters::coord::ranged1d::{AsRangedCoord, ValueFormatter};
use plotters::prelude::*;

/// The size in pixels.
const SIZE: (u32, u32) = (760, 400);
/// The colours, each with its replacement on a dark page.
const TEXT: (RGBColor, &str) = (RGBColor(31, 35, 40), "#e6edf3");
const GRID: (RGBColor, &str) = (RGBColor(216, 222, 228), "#3d444d");
const SERIES: [(RGBColor, &str); 3] = [
    (RGBColor(9, 105, 218), "#58a6ff"),
    (RGBColor(188, 76, 0), "#f0883e"),
    (RGBColor(26, 127, 55), "#3fb950"),
];

/// A named series of points.
pub(crate) struct Series {
    pub(crate) name: String,
    /// x ascending, y above zero.
    pub(crate) points: Vec<(f64, f64)>,
}

/// The description of a plot.
pub(crate) struct Plot<'a> {
    /// The file's name, without its ending.
    pub(crate) file: &'a str,
    pub(crate) title: &'a str,
    pub(crate) x: &'a str,
    pub(crate) y: &'a str,
    /// Whether the x axis is logarithmic.
    pub(crate) log_x: bool,
}

/// The folder for plots, if they are requested.
pub(crate) fn folder() -> Option<PathBuf> {
    std::env::var_os("PLOTS").map(PathBuf::from)
}

impl Plot<'_> {
    /// Writes the file, unless PLOTS is unset.
    pub(crate) fn write(&self, series: &[Series]) {
        let Some(folder) = folder() else { return };
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join(format!("{}.svg", self.file));
        let x = extent(
            series
                .iter()
                .flat_map(|one| one.points.iter().map(|point| point.0)),
        );
        let y = extent(
            series
                .iter()
                .flat_map(|one| one.points.iter().map(|point| point.1)),
        );
        let y = y.start / 1.3..y.end * 1.3;
        if self.log_x {
            self.draw(&path, (x.start / 1.1..x.end * 1.1).log_scale(), y, series);
        } else {
            self.draw(&path, x, y, series);
        }
        let svg = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, themed(&svg)).unwrap();
        println!("\nwrote {}", path.display());
    }

    fn draw<X>(
        &self,
        path: &Path,
        x: impl AsRangedCoord<CoordDescType = X, Value = f64>,
        y: Range<f64>,
        series: &[Series],
    ) where
        X: Ranged<ValueType = f64> + ValueFormatter<f64>,
    {
        let root = SVGBackend::new(path, SIZE).into_drawing_area();
        let font = |size: i32| ("sans-serif", size).into_font().color(&TEXT.0);
        let mut chart = ChartBuilder::on(&root)
            .caption(self.title, font(17))
            .margin(12)
            .x_label_area_size(44)
            .y_label_area_size(64)
            .build_cartesian_2d(x, y.log_scale())
            .unwrap();
        chart
            .configure_mesh()
            .light_line_style(TRANSPARENT)
            .bold_line_style(GRID.0)
            .axis_style(GRID.0)
            .label_style(font(13))
            .axis_desc_style(font(14))
            .x_desc(self.x)
            .y_desc(self.y)
            .y_label_formatter(&short)
            .x_label_formatter(&short)
            .draw()
            .unwrap();
        for (one, (color, _)) in series.iter().zip(SERIES.iter().cycle()) {
            let color = *color;
            chart
                .draw_series(LineSeries::new(one.points.iter().copied(), color.stroke_width(2)))
                .unwrap()
                .label(&one.name)
                .legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], color.stroke_width(2)));
        }
        chart
            .configure_series_labels()
            .position(SeriesLabelPosition::UpperLeft)
            .label_font(font(13))
            .draw()
            .unwrap();
        root.present().unwrap();
    }
}

/// The smallest and the largest.
fn extent(values: impl Iterator<Item = f64>) -> Range<f64> {
    let (low, high) = values.fold((f64::MAX, f64::MIN), |(low, high), value| {
        (low.min(value), high.max(value))
    });
    low..high
}

/// As few digits as are needed to distinguish the labels.
fn short(value: &f64) -> String {
    match *value {
        value if value >= 10.0 || value.fract() == 0.0 => format!("{value:.0}"),
        value if value >= 1.0 => format!("{value:.1}"),
        value => format!("{value:.2}"),
    }
}

/// The SVG with a second set of colours for dark pages and without a background.
fn themed(svg: &str) -> String {
    let mut dark = String::new();
    for (light, dark_color) in [TEXT, GRID].into_iter().chain(SERIES) {
        let RGBColor(red, green, blue) = light;
        let light = format!("#{red:02X}{green:02X}{blue:02X}");
        dark.push_str(&format!(
            "[fill=\"{light}\"]{{fill:{dark_color}}}[stroke=\"{light}\"]{{stroke:{dark_color}}}"
        ));
    }
    let head = svg.find('>').map_or(0, |end| end + 1);
    let (open, rest) = svg.split_at(head);
    format!("{open}\n<style>@media(prefers-color-scheme:dark){{{dark}}}</style>{rest}")
}
