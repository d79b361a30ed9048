//! The one frame that a worker is sent: its job.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use crate::jar::Outgoing;
use crate::job::{Job, Program};
use crate::plan::{Plan, SCRIPT};
use crate::wire::{Kind, LEAST_JOB, PREFIX};

/// The job as a worker reads it; nothing for a program that is not Python. One that ends with its value stays until the
/// host ends it: to end by itself takes the processor from whoever hands the value over. A worker that was woken up elsewhere
/// than it may be is told where that is.
pub(super) fn frame(
    plan: &Plan,
    job: &Job,
    ends_with_value: bool,
    processors: Option<&[usize]>,
) -> Option<Outgoing> {
    let script;
    let (kind, origin, parts): (&str, &OsStr, Vec<&[u8]>) = match &job.program {
        Program::Code { source, from_stdin } => (
            "code",
            OsStr::new(if *from_stdin { "-" } else { "-c" }),
            vec![source],
        ),
        Program::Script { name, .. } => {
            script = Path::new(SCRIPT).join(name);
            ("script", script.as_os_str(), Vec::new())
        }
        Program::ScriptAt(path) => ("script", path.as_os_str(), Vec::new()),
        Program::Module(name) => ("module", OsStr::new(name), Vec::new()),
        Program::Call { function, arguments } => {
            ("call", OsStr::new("-c"), vec![function.as_bytes(), arguments])
        }
        // What they run follows as a parcel.
        Program::Invoke { name, .. } => ("invoke", name, Vec::new()),
        Program::Evaluate { name, .. } => ("evaluate", name, Vec::new()),
        Program::Command(_) | Program::Shell => return None,
    };
    let parcel = job
        .parcel()
        .and_then(|parcel| Outgoing::whole_parcel(parcel, job.items));
    let parts: Vec<&[u8]> = parts.into_iter().chain(parcel.as_deref()).collect();
    // What is usual is not said: each field is read while somebody waits.
    let mut header = String::with_capacity(160);
    header.push_str("{\"kind\":");
    quote(&mut header, kind.as_bytes());
    if origin != "-c" {
        header.push_str(",\"origin\":");
        quote(&mut header, origin.as_bytes());
    }
    if !job.args.is_empty() {
        header.push_str(",\"args\":");
        list(&mut header, ('[', ']'), &job.args, |out, arg| {
            quote(out, arg.as_bytes())
        });
    }
    // The template has those that belljar sets itself. A job's own take the place of the policy's.
    let mut env: BTreeMap<&String, &String> = plan.given_env().collect();
    env.extend(job.env.iter().map(|(name, value)| (name, value)));
    let env: Vec<_> = env.into_iter().collect();
    if !env.is_empty() {
        header.push_str(",\"env\":");
        list(&mut header, ('{', '}'), &env, |out, (name, value)| {
            quote(out, name.as_bytes());
            out.push(':');
            quote(out, value.as_bytes());
        });
    }
    header.push_str(",\"parts\":");
    list(&mut header, ('[', ']'), &parts, |out, part| {
        out.push_str(&part.len().to_string());
    });
    if parcel.is_some() {
        header.push_str(",\"parcel\":1");
    }
    if ends_with_value {
        header.push_str(",\"stays\":1");
    }
    if let Some(processors) = processors {
        header.push_str(",\"processors\":");
        list(&mut header, ('[', ']'), processors, |out, cpu| {
            out.push_str(&cpu.to_string());
        });
    }
    header.push('}');
    let body: usize = parts.iter().map(|part| part.len()).sum();
    let mut bytes = Vec::with_capacity(LEAST_JOB.max(PREFIX + header.len() + body));
    bytes.extend(Kind::Job.prefix(header.len() as u32, body as u64, false));
    bytes.extend(header.as_bytes());
    for part in parts {
        bytes.extend(part);
    }
    bytes.resize(LEAST_JOB.max(bytes.len()), 0);
    let frame = Outgoing::new(bytes);
    Some(match job.parcel().filter(|_| parcel.is_none()) {
        Some(parcel) => frame.parcel(parcel, job.items),
        None => frame,
    })
}

fn list<Item>(
    out: &mut String,
    (open, close): (char, char),
    items: &[Item],
    mut write: impl FnMut(&mut String, &Item),
) {
    out.push(open);
    for (position, item) in items.iter().enumerate() {
        if position > 0 {
            out.push(',');
        }
        write(out, item);
    }
    out.push(close);
}

/// Writes a JSON string. A byte that is no UTF-8 becomes the lone surrogate that Python's file system encoding has for it,
/// which no serializer of Rust strings can write.
fn quote(out: &mut String, bytes: &[u8]) {
    out.push('"');
    for chunk in bytes.utf8_chunks() {
        for character in chunk.valid().chars() {
            match character {
                '"' | '\\' => out.extend(['\\', character]),
                '\0'..='\x1f' => out.push_str(&format!("\\u{:04x}", u32::from(character))),
                _ => out.push(character),
            }
        }
        for byte in chunk.invalid() {
            out.push_str(&format!("\\udc{byte:02x}"));
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_json_and_odd_bytes_are_lone_surrogates() {
        let quoted = |bytes: &[u8]| {
            let mut out = String::new();
            quote(&mut out, bytes);
            out
        };
        assert_eq!(quoted(b"a\xff\"\\\n\xc3\xa9"), r#""a\udcff\"\\\u000aé""#);
        let text = "tab\t nul\0 \u{1f600} \u{7f}";
        let read: String = serde_json::from_str(&quoted(text.as_bytes())).unwrap();
        assert_eq!(read, text);
    }
}
