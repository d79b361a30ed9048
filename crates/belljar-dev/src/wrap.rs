//! Prose is wrapped, so that it can be read in a terminal and its changes can be reviewed.

use std::path::PathBuf;

use anyhow::{Context, bail};

use crate::repository;

const WIDTH: usize = 100;

/// Fails with every line of prose that is too long.
pub fn check() -> anyhow::Result<()> {
    let mut wrong = Vec::new();
    let documents = repository::tracked(".md")?;
    for document in &documents {
        for number in long(&repository::read(document)?) {
            wrong.push(format!("{}:{number}", document.display()));
        }
    }
    if wrong.is_empty() {
        println!("{} documents are wrapped at {WIDTH} columns", documents.len());
        return Ok(());
    }
    bail!(
        "longer than {WIDTH} columns (`belljar-dev wrap FILE` wraps them):\n{}",
        wrong.join("\n")
    )
}

/// Wraps the prose of these files.
pub fn rewrite(files: &[PathBuf]) -> anyhow::Result<()> {
    for file in files {
        let text =
            std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
        std::fs::write(file, wrapped(&text)).with_context(|| format!("cannot write {}", file.display()))?;
    }
    Ok(())
}

/// The text with its paragraphs and items wrapped. Code, rows of tables, headings and marks stay as they are.
pub fn wrapped(text: &str) -> String {
    let (mut out, mut paragraph, mut code) = (String::new(), Vec::new(), false);
    for line in text.lines() {
        let fence = line.trim_start().starts_with("```");
        let kept = code || fence || line.trim().is_empty() || line.starts_with(['|', '#', '<', '!', '$']);
        code ^= fence;
        if kept || item(line) > 0 {
            flush(&mut out, &mut paragraph);
        }
        if kept {
            out.push_str(line);
            out.push('\n');
        } else {
            paragraph.push(line);
        }
    }
    flush(&mut out, &mut paragraph);
    out
}

/// How wide the mark is that a line begins an item of a list with; 0 if it begins none.
fn item(line: &str) -> usize {
    let text = line.trim_start();
    let number = text.trim_start_matches(|c: char| c.is_ascii_digit());
    let mark = if text.starts_with("- ") {
        2
    } else if number.len() < text.len() && number.starts_with(". ") {
        text.len() - number.len() + 2
    } else {
        return 0;
    };
    line.len() - text.len() + mark
}

fn flush(out: &mut String, paragraph: &mut Vec<&str>) {
    let Some(first) = paragraph.first() else { return };
    let mark = item(first).max(first.len() - first.trim_start().len());
    let (mark, indent) = (&first[..mark], " ".repeat(mark));
    let mut line = mark.to_owned();
    let text = paragraph.join("\n");
    for word in text[mark.len()..].split_whitespace() {
        let empty = line.trim_start().is_empty() || line == mark;
        if !empty && line.chars().count() + 1 + word.chars().count() > WIDTH {
            out.push_str(&line);
            out.push('\n');
            line.clone_from(&indent);
            line.push_str(word);
            continue;
        }
        if !empty {
            line.push(' ');
        }
        line.push_str(word);
    }
    out.push_str(&line);
    out.push('\n');
    paragraph.clear();
}

/// Numbers of the lines that are too long. Code, rows of tables and single long words cannot be wrapped.
fn long(text: &str) -> Vec<usize> {
    let mut code = false;
    let mut found = Vec::new();
    for (number, line) in text.lines().enumerate() {
        code ^= line.trim_start().starts_with("```");
        let breakable = line[item(line)..].trim().contains(' ');
        if !code && breakable && !line.starts_with('|') && line.chars().count() > WIDTH {
            found.push(number + 1);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prose_alone_is_measured() {
        let long_line = "word ".repeat(21);
        let text = format!(
            "short\n{long_line}\n| {long_line} |\n```\n{long_line}\n```\n- {}\n",
            "x".repeat(120)
        );
        assert_eq!(long(&text), [2]);
        assert_eq!(long(&"ä ".repeat(50)), [] as [usize; 0]);
    }

    #[test]
    fn prose_alone_is_wrapped() {
        let words = "word ".repeat(30);
        let text = format!(
            "# {words}\n\n{words}\nmore\n- {words}\n  more\n1. one\n| {words} |\n```\n{words}\n```\n"
        );
        let wrapped = wrapped(&text);
        assert_eq!(long(&wrapped), [1]);
        assert!(wrapped.contains("\n  word"), "{wrapped}");
        assert!(wrapped.contains("\n1. one\n| word"), "{wrapped}");
        assert_eq!(super::wrapped(&wrapped), wrapped);
        let same: Vec<&str> = wrapped.split_whitespace().collect();
        assert_eq!(same, text.split_whitespace().collect::<Vec<_>>());
    }
}
