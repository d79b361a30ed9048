//! Reads the lists in `policies/`. Shared by the build script, which compiles them in, and by the tests.

/// A call and its numbers, in the order of [`ARCHITECTURES`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    pub name: String,
    pub numbers: [Option<u32>; 2],
}

/// The columns of `syscall-numbers.txt`.
pub const ARCHITECTURES: [&str; 2] = ["x86_64", "aarch64"];

/// What a case may depend on: `seccomp::Options`.
pub const OPTIONS: [&str; 6] = ["internet", "tty", "affinity", "ipc", "disk", "locks"];

/// No errno: the jar's init decides.
pub const ASK: u16 = u16::MAX;

/// The errnos that a list may name, with the numbers that x86_64 and aarch64 share. `done` is success that nothing was done for.
pub const ERRNOS: [(&str, u16); 11] = [
    ("ask", ASK),
    ("done", 0),
    ("EPERM", 1),
    ("ENOMEM", 12),
    ("EINVAL", 22),
    ("ENOTTY", 25),
    ("ENOLCK", 37),
    ("ENOSYS", 38),
    ("EPROTONOSUPPORT", 93),
    ("EOPNOTSUPP", 95),
    ("EAFNOSUPPORT", 97),
];

/// `None` is allow.
pub type Verdict = Option<u16>;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Test {
    pub arg: u8,
    pub mask: u64,
    pub value: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Case {
    pub verdict: Verdict,
    pub tests: Vec<Test>,
    pub option: Option<usize>,
    pub reason: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    pub name: String,
    pub verdict: Verdict,
    pub reason: String,
    pub cases: Vec<Case>,
}

/// Reads `syscall-numbers.txt`.
pub fn numbers(text: &str) -> Result<Vec<Row>, String> {
    let mut rows: Vec<Row> = Vec::new();
    for (at, line) in lines(text) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [name, columns @ ..] = words.as_slice() else {
            continue;
        };
        if columns.len() != ARCHITECTURES.len() {
            return Err(format!(
                "line {at}: expected a name and {} numbers",
                ARCHITECTURES.len()
            ));
        }
        let mut numbers = [None; 2];
        for (slot, word) in numbers.iter_mut().zip(columns) {
            if *word != "-" {
                *slot = Some(
                    word.parse()
                        .map_err(|_| format!("line {at}: `{word}` is not a number"))?,
                );
            }
        }
        if numbers == [None; 2] {
            return Err(format!("line {at}: no architecture has `{name}`"));
        }
        for row in &rows {
            let same = row
                .numbers
                .iter()
                .zip(&numbers)
                .any(|(a, b)| a.is_some() && a == b);
            if row.name == *name || same {
                return Err(format!(
                    "line {at}: `{name}` repeats the name or a number of `{}`",
                    row.name
                ));
            }
        }
        rows.push(Row {
            name: name.to_string(),
            numbers,
        });
    }
    Ok(rows)
}

/// Reads a list of rules; every name must be a known call, once, and every line must have a reason.
pub fn rules(text: &str, known: &[Row]) -> Result<Vec<Rule>, String> {
    let mut rules: Vec<Rule> = Vec::new();
    for (at, line) in lines(text) {
        let fail = |what: String| format!("line {at}: {what}");
        let (body, reason) = line.split_once('#').ok_or_else(|| fail("no reason".into()))?;
        let reason = reason.trim().to_string();
        if reason.is_empty() {
            return Err(fail("no reason".into()));
        }
        let mut words = body.split_whitespace();
        let name = words
            .next()
            .ok_or_else(|| fail("nothing before the reason".into()))?;
        let verdict = verdict(words.next().unwrap_or_default()).map_err(fail)?;
        if name == "-" {
            let rule = rules
                .last_mut()
                .ok_or_else(|| fail("a case before any call".into()))?;
            let (tests, option) = conditions(words).map_err(fail)?;
            if tests.is_empty() && option.is_none() {
                return Err(fail("a case without test or option".into()));
            }
            rule.cases.push(Case {
                verdict,
                tests,
                option,
                reason,
            });
        } else {
            if words.next().is_some() {
                return Err(fail(format!("tests of `{name}` belong on lines of their own")));
            }
            if !known.iter().any(|row| row.name == name) {
                return Err(fail(format!("no architecture has a call `{name}`")));
            }
            if rules.iter().any(|rule| rule.name == name) {
                return Err(fail(format!("`{name}` has a line already")));
            }
            rules.push(Rule {
                name: name.to_string(),
                verdict,
                reason,
                cases: Vec::new(),
            });
        }
    }
    Ok(rules)
}

/// Fails with the names of the calls that have no rule.
pub fn complete(rules: &[Rule], known: &[Row]) -> Result<(), String> {
    let missing = |row: &&Row| !rules.iter().any(|rule| rule.name == row.name);
    let names: Vec<&str> = known
        .iter()
        .filter(missing)
        .map(|row| row.name.as_str())
        .collect();
    if names.is_empty() {
        Ok(())
    } else {
        Err(format!("no line for {}", names.join(", ")))
    }
}

/// Puts `rules` over `base`: for a call that both name, the cases of `base` come after its own.
pub fn over(mut rules: Vec<Rule>, base: &[Rule]) -> Vec<Rule> {
    for rule in &mut rules {
        let below = base.iter().filter(|below| below.name == rule.name);
        rule.cases.extend(below.flat_map(|below| below.cases.clone()));
    }
    rules
}

fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let numbered = text
        .lines()
        .enumerate()
        .map(|(index, line)| (index + 1, line.trim()));
    numbered.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
}

fn verdict(word: &str) -> Result<Verdict, String> {
    if word == "allow" {
        return Ok(None);
    }
    let found = ERRNOS.iter().find(|(name, _)| *name == word);
    found
        .map(|(_, errno)| Some(*errno))
        .ok_or_else(|| format!("`{word}` is no verdict"))
}

fn conditions<'a>(mut words: impl Iterator<Item = &'a str>) -> Result<(Vec<Test>, Option<usize>), String> {
    let mut tests = Vec::new();
    while let Some(word) = words.next() {
        if word == "if" {
            let name = words.next().unwrap_or_default();
            let option = OPTIONS.iter().position(|option| *option == name);
            let option = option.ok_or_else(|| format!("`{name}` is no option"))?;
            return match words.next() {
                Some(extra) => Err(format!("`{extra}` after the option")),
                None => Ok((tests, Some(option))),
            };
        }
        tests.push(test(word)?);
    }
    Ok((tests, None))
}

fn test(word: &str) -> Result<Test, String> {
    let fail = || format!("`{word}` is no test");
    let (left, value) = word.split_once('=').ok_or_else(fail)?;
    let (arg, mask) = match left.split_once('&') {
        Some((arg, mask)) => (arg, number(mask).ok_or_else(fail)?),
        None => (left, u64::from(u32::MAX)),
    };
    let arg: u8 = arg
        .strip_prefix("arg")
        .and_then(|digits| digits.parse().ok())
        .ok_or_else(fail)?;
    let value = number(value).ok_or_else(fail)?;
    if arg > 5 || mask == 0 || value & !mask != 0 {
        return Err(format!("`{word}` can never hold"));
    }
    Ok(Test { arg, mask, value })
}

fn number(word: &str) -> Option<u64> {
    match word.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => word.parse().ok(),
    }
}
