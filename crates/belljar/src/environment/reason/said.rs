//! What uv said, taken apart: an error, its causes, and hints.

/// What uv said before it gave up.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Said {
    /// The error and its causes, the outermost first, each in one line.
    pub chain: Vec<String>,
    /// Hints, each in one line.
    pub hints: Vec<String>,
}

impl Said {
    /// From its standard error. Lines that are indented go on with what stands above them.
    pub(super) fn parse(stderr: &str) -> Self {
        let mut said = Self::default();
        let mut here: Option<bool> = None;
        for line in stderr.lines() {
            let text: String = line.chars().filter(|character| !character.is_control()).collect();
            let trimmed = text.trim();
            let parts = [("error: ", false), ("cause: ", false), ("hint: ", true)];
            let start = parts
                .iter()
                .find_map(|(word, hint)| Some((trimmed.strip_prefix(word)?, *hint)));
            match (start, here) {
                (Some((rest, hint)), _) => {
                    said.part(hint).push(rest.to_owned());
                    here = Some(hint);
                }
                (None, Some(hint)) if text.starts_with(' ') && !trimmed.is_empty() => {
                    if let Some(last) = said.part(hint).last_mut() {
                        last.push(' ');
                        last.push_str(trimmed);
                    }
                }
                // An empty line stands inside a cause too; what is not indented is progress.
                (None, _) if trimmed.is_empty() => {}
                _ => here = None,
            }
        }
        said
    }

    fn part(&mut self, hint: bool) -> &mut Vec<String> {
        if hint { &mut self.hints } else { &mut self.chain }
    }

    /// The first line that has this in it, and what stands in it before and after.
    pub(super) fn around(&self, sign: &str) -> Option<(&str, &str)> {
        self.chain
            .iter()
            .chain(&self.hints)
            .find_map(|line| line.split_once(sign))
    }

    pub(super) fn has(&self, sign: &str) -> bool {
        self.around(sign).is_some()
    }

    /// The innermost cause.
    pub(super) fn last(&self) -> &str {
        self.chain
            .last()
            .map_or("it gave no reason", |line| line.trim_end_matches('.'))
    }

    /// What it could not fetch, install or build, such as `lib==1`.
    pub(super) fn package(&self) -> Option<&str> {
        let quoted = [
            "Failed to download `",
            "Failed to download and build `",
            "Failed to build `",
            "Hash mismatch for `",
        ];
        let quoted = quoted
            .iter()
            .find_map(|sign| self.around(sign)?.1.split('`').next());
        // `Failed to install: lib-1-py3-none-any.whl (lib==1)`
        quoted.or_else(|| {
            self.around("Failed to install: ")?
                .1
                .split_once('(')?
                .1
                .split(')')
                .next()
        })
    }
}
