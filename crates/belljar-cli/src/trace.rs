//! Traces to stderr, only when asked for: setting up a filter takes longer than parsing the command line.

use tracing_subscriber::EnvFilter;

/// Starts tracing when `-v` or `BELLJAR_LOG` asks for it.
pub fn start(verbose: u8) {
    let filter = match std::env::var("BELLJAR_LOG") {
        Ok(filter) if !filter.is_empty() => filter,
        _ => match verbose {
            0 => return,
            1 => "belljar=debug,belljar_linux=debug".to_owned(),
            _ => "belljar=trace,belljar_linux=trace".to_owned(),
        },
    };
    tracing_subscriber::fmt()
        .with_env_filter(EnvFilter::new(filter))
        .with_writer(std::io::stderr)
        .with_ansi(anstream::stderr().current_choice() != anstream::ColorChoice::Never)
        .init();
}
