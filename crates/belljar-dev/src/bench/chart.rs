//! The medians as bars, drawn by hand.

use std::fmt::Write;

use super::Figures;

const WIDTH: f64 = 760.0;
const LEFT: f64 = 210.0;
const ROW: f64 = 26.0;
const TOP: f64 = 34.0;
/// Room for the figure behind the longest bar.
const RIGHT: f64 = 90.0;

/// A bar for each contender that ran, on a common scale.
pub fn svg(figures: &Figures) -> String {
    let bars: Vec<(String, &str, f64)> = figures
        .rows
        .iter()
        .filter_map(|row| {
            let sample = row.result.as_ref().ok()?;
            Some((row.contender.label(), row.contender.name, sample.median()))
        })
        .collect();
    let longest = bars.iter().map(|bar| bar.2).fold(1.0, f64::max);
    let height = TOP + ROW * bars.len() as f64 + 10.0;
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" font-family=\"sans-serif\" font-size=\"13\">\n\
         <rect width=\"{WIDTH}\" height=\"{height}\" fill=\"#ffffff\"/>\n\
         <text x=\"10\" y=\"20\" font-weight=\"bold\" fill=\"#222222\">Cold start of print(1), median, milliseconds (less is better)</text>\n"
    );
    for (number, (label, name, median)) in bars.iter().enumerate() {
        let y = TOP + ROW * number as f64;
        let length = (WIDTH - LEFT - RIGHT) * median / longest;
        let colour = match *name {
            "belljar" | "belljar, tidied" => "#2f6f4f",
            "bare interpreter" => "#999999",
            _ => "#b9c4bf",
        };
        let _ = writeln!(
            text,
            "<text x=\"{:.0}\" y=\"{:.0}\" text-anchor=\"end\" fill=\"#222222\">{label}</text>\
             <rect x=\"{LEFT}\" y=\"{:.0}\" width=\"{length:.1}\" height=\"18\" fill=\"{colour}\"/>\
             <text x=\"{:.1}\" y=\"{:.0}\" fill=\"#222222\">{median:.1}</text>",
            LEFT - 8.0,
            y + 14.0,
            y,
            LEFT + length + 6.0,
            y + 14.0,
        );
    }
    text.push_str("</svg>\n");
    text
}
