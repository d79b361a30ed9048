//! What templates import. A module that a template cannot have, because its import leaves threads or shared memory, is left out
//! of a preload that nobody asked for: jobs import it themselves, and the rest is warm.

use crate::cabinet::Spec;
use crate::cabinet::message::Preloaded;

/// How much is told of what an import left.
const TOLD: usize = 120;

/// What templates import, and what they cannot have.
#[derive(Debug)]
pub(super) struct Preloading {
    pub modules: Vec<String>,
    /// With the reason for each.
    pub left_out: Vec<Preloaded>,
    asked: bool,
}

impl Preloading {
    pub(super) fn new(spec: &Spec) -> Self {
        Self {
            modules: spec.preload.clone(),
            left_out: Vec::new(),
            asked: spec.asked,
        }
    }

    /// Leaves out whatever is to blame, or everything where that is not known; whether there was anything to leave out. A
    /// template that lies about it only makes itself smaller.
    pub(super) fn leave_out(&mut self, report: &[Preloaded], reason: &str) -> bool {
        if self.asked || self.modules.is_empty() {
            return false;
        }
        let known = self.modules.iter().any(|name| blamed(report, name).is_some());
        let gone = self
            .modules
            .extract_if(.., |name| !known || blamed(report, name).is_some());
        self.left_out.extend(gone.map(|name| {
            let left = blamed(report, &name).map(traces).unwrap_or_default();
            Preloaded {
                error: Some(format!("left out, because {reason}{left}")),
                name,
                ..Preloaded::default()
            }
        }));
        true
    }
}

/// The report on a module whose import left what a template must not have.
fn blamed<'a>(report: &'a [Preloaded], name: &str) -> Option<&'a Preloaded> {
    report
        .iter()
        .find(|module| module.name == name && is_to_blame(module))
}

fn is_to_blame(module: &Preloaded) -> bool {
    let left = [
        &module.threads,
        &module.shared,
        &module.descriptors,
        &module.processes,
    ];
    module.caught || left.iter().any(|left| !left.is_empty())
}

fn traces(module: &Preloaded) -> String {
    let all = [
        &module.threads,
        &module.shared,
        &module.descriptors,
        &module.processes,
    ];
    let text: Vec<&str> = all.into_iter().flatten().map(String::as_str).collect();
    if text.is_empty() {
        return String::new();
    }
    format!(": {}", text.join(", ").chars().take(TOLD).collect::<String>())
}

/// The modules whose import left what a template must not have, as the end of a sentence.
pub(super) fn culprits(report: &[Preloaded]) -> String {
    let blamed = report.iter().filter(|module| is_to_blame(module));
    let names: Vec<&str> = blamed.map(|module| module.name.as_str()).collect();
    match names.as_slice() {
        [] => String::new(),
        names => format!("; importing {} did that", names.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn preloading(asked: bool) -> Preloading {
        Preloading {
            modules: vec!["calm".into(), "busy".into(), "late".into()],
            left_out: Vec::new(),
            asked,
        }
    }

    fn report() -> Vec<Preloaded> {
        let module = |name: &str, threads: &[&str]| Preloaded {
            name: name.into(),
            threads: threads.iter().map(|thread| (*thread).to_owned()).collect(),
            ..Preloaded::default()
        };
        vec![
            module("calm", &[]),
            module("busy", &["pump (7)"]),
            module("stranger", &["x (8)"]),
        ]
    }

    #[test]
    fn only_what_is_to_blame_is_left_out_and_the_reason_is_told() {
        let mut preloading = preloading(false);
        assert!(preloading.leave_out(&report(), "it has 2 threads"));
        assert_eq!(preloading.modules, ["calm", "late"]);
        assert_eq!(preloading.left_out.len(), 1);
        assert_eq!(preloading.left_out[0].name, "busy");
        let error = preloading.left_out[0].error.as_deref();
        assert_eq!(error, Some("left out, because it has 2 threads: pump (7)"));
    }

    #[test]
    fn where_nobody_is_to_blame_everything_is_left_out_and_then_nothing_more() {
        let mut preloading = preloading(false);
        assert!(preloading.leave_out(&[], "it died"));
        assert_eq!(preloading.modules, Vec::<String>::new());
        assert_eq!(preloading.left_out.len(), 3);
        assert!(!preloading.leave_out(&[], "it died again"));
        assert_eq!(preloading.left_out.len(), 3);
    }

    #[test]
    fn what_was_asked_for_is_never_left_out() {
        let mut preloading = preloading(true);
        assert!(!preloading.leave_out(&report(), "it has 2 threads"));
        assert_eq!(preloading.modules.len(), 3);
        assert_eq!(culprits(&report()), "; importing busy, stranger did that");
    }
}
