//! The figures as a page.

use std::fmt::Write;
use std::path::Path;

use super::{Callers, Figures, Times};
use crate::bench::Machine;

fn row(text: &mut String, name: &str, times: &Times, against: f64) {
    let _ = writeln!(
        text,
        "| {name} | {:.3} | {:.3} | {:.3} | {:.3} | {:.2}× |",
        times.p50,
        times.p95,
        times.p99,
        times.max,
        times.p50 / against
    );
}

/// All tables.
pub fn tables(all: &[Figures]) -> String {
    let mut text = String::new();
    for figures in all {
        let hot = figures.executor.p50;
        let _ = write!(
            text,
            "## Started by {}\n\n\
             One call at a time, 3 ms apart, milliseconds:\n\n\
             | what | p50 | p95 | p99 | max | p50 against the process pool |\n|---|---:|---:|---:|---:|---:|\n",
            figures.user
        );
        row(
            &mut text,
            "hot `ProcessPoolExecutor` (fork, reused process)",
            &figures.executor,
            hot,
        );
        row(&mut text, "belljar, to the value", &figures.value, hot);
        row(&mut text, "belljar, to the empty jar", &figures.empty, hot);
        if let Some((value, empty)) = &figures.packages {
            row(
                &mut text,
                "with numpy and pandas imported, to the value",
                value,
                hot,
            );
            row(
                &mut text,
                "with numpy and pandas imported, to the empty jar",
                empty,
                hot,
            );
            let _ = writeln!(
                text,
                "\nWith numpy and pandas against without, to the value: {:.2}×.",
                value.p50 / figures.value.p50
            );
        }
        text.push_str("\nCallers at once, one call after the other, milliseconds to the value:\n\n| callers | p50 | p95 | p99 | max | calls each second | processor time of each |\n|---:|---:|---:|---:|---:|---:|---:|\n");
        for callers in &figures.callers {
            let Callers {
                count,
                times,
                rate,
                cpu,
            } = callers;
            let _ = writeln!(
                text,
                "| {count} | {:.2} | {:.2} | {:.2} | {:.2} | {rate:.0} | {cpu:.2} |",
                times.p50, times.p95, times.p99, times.max
            );
        }
        let _ = write!(
            text,
            "\n- Fresh workers each second, every one with a job, on all processors: {:.0}; bare `os.fork()` and wait on one processor: {:.0}. **{:.2}×**\n\
             - A parked worker adds {:.1} MB (proportional set size of worker, init and keeper){}.\n\
             - At once: {} workers parked and {} jobs running.\n\
             - Beside a hostile neighbour: [neighbours.md](neighbours.md).\n\n\
             Where the time goes, mean microseconds of a step (only `job` is on the caller's path):\n\n",
            figures.workers,
            figures.forks,
            figures.workers / figures.forks,
            figures.memory as f64 / 1e6,
            figures
                .memory_packages
                .map(|bytes| format!("; with numpy and pandas {:.1} MB", bytes as f64 / 1e6))
                .unwrap_or_default(),
            figures.parked,
            figures.running,
        );
        let names: Vec<&str> = figures.steps.iter().map(|step| step.0.as_str()).collect();
        let _ = writeln!(
            text,
            "| {} |\n|{}",
            names.join(" | "),
            "---:|".repeat(names.len())
        );
        let means: Vec<String> = figures
            .steps
            .iter()
            .map(|step| format!("{:.0}", step.1))
            .collect();
        let _ = writeln!(text, "| {} |\n", means.join(" | "));
    }
    text
}

/// The whole page.
pub fn page(all: &[Figures], python: &Path, machine: &Machine) -> String {
    format!(
        "# Warm figures\n\n\
         Written by `make bench`. A call is `lambda x: x + 1` through the library, on a worker that was parked: forked from a\n\
         template, alone in a jar, sealed, checked, used once. The process pool beside it runs the same in one process that is\n\
         used again and again, with no isolation. Both run {} and take turns.\n\n\
         {}\n\n\
         ![Calls, to the value](warm.svg)\n\n{}",
        python.display(),
        machine.sentence("make bench"),
        tables(all)
    )
}

/// Medians as bars.
pub fn chart(all: &[Figures]) -> String {
    let mut bars = Vec::new();
    for figures in all {
        bars.push((
            format!("process pool ({})", figures.user),
            figures.executor.p50,
            "#999999",
        ));
        bars.push((
            format!("belljar, value ({})", figures.user),
            figures.value.p50,
            "#2f6f4f",
        ));
        bars.push((
            format!("belljar, empty jar ({})", figures.user),
            figures.empty.p50,
            "#7da893",
        ));
        if let Some((value, _)) = &figures.packages {
            bars.push((
                format!("numpy and pandas, value ({})", figures.user),
                value.p50,
                "#2f6f4f",
            ));
        }
    }
    let longest = bars.iter().map(|bar| bar.1).fold(0.1, f64::max);
    let height = 44.0 + 26.0 * bars.len() as f64;
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 760 {height}\" font-family=\"sans-serif\" font-size=\"13\">\n\
         <rect width=\"760\" height=\"{height}\" fill=\"#ffffff\"/>\n\
         <text x=\"10\" y=\"20\" font-weight=\"bold\" fill=\"#222222\">One call, median, milliseconds (less is better)</text>\n"
    );
    for (number, (label, median, colour)) in bars.iter().enumerate() {
        let y = 34.0 + 26.0 * number as f64;
        let length = 420.0 * median / longest;
        let _ = writeln!(
            text,
            "<text x=\"242\" y=\"{:.0}\" text-anchor=\"end\" fill=\"#222222\">{label}</text>\
             <rect x=\"250\" y=\"{y:.0}\" width=\"{length:.1}\" height=\"18\" fill=\"{colour}\"/>\
             <text x=\"{:.1}\" y=\"{:.0}\" fill=\"#222222\">{median:.2}</text>",
            y + 14.0,
            256.0 + length,
            y + 14.0,
        );
    }
    text.push_str("</svg>\n");
    text
}
