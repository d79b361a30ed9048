//! Standard input: large, unread, ended, and never a terminal of the caller's.

use std::io::Write;
use std::os::fd::OwnedFd;

use belljar::job::Stdin;
use belljar::outcome::Status;

use crate::glass::{Either, code, expect, jar, stdout, told};

both_ways! {
    fn large_input_arrives_whole(_who) {
        let data: Vec<u8> = (0..8u32 << 20).map(|i| (i % 251) as u8).collect();
        let mut job = code("import sys, hashlib\nd = sys.stdin.buffer.read()\nprint(len(d), sum(d[::997]))");
        job.stdin = Stdin::Bytes(data.clone());
        let outcome = jar(|_| {}).either(job).expect("an outcome");
        let sum: u64 = data.iter().step_by(997).map(|byte| u64::from(*byte)).sum();
        assert_eq!(stdout(&outcome), format!("{} {sum}\n", data.len()), "{}", told(&outcome));
    }

    fn input_that_is_never_read_does_not_matter(_who) {
        let mut job = code("print('done')");
        job.stdin = Stdin::Bytes(vec![0; 8 << 20]);
        let outcome = jar(|_| {}).either(job).expect("an outcome");
        expect(&outcome, Status::Returned);
        let mut closes = code("import os; os.close(0); print('done')");
        closes.stdin = Stdin::Bytes(vec![0; 8 << 20]);
        expect(&jar(|_| {}).either(closes).expect("an outcome"), Status::Returned);
    }

    fn no_input_is_end_of_file(_who) {
        let outcome = jar(|_| {}).either(code("import sys; print(repr(sys.stdin.read()))")).expect("an outcome");
        assert_eq!(stdout(&outcome), "''\n");
        let asks = jar(|_| {}).either(code("input()")).expect("an outcome");
        assert_eq!(asks.exception.expect("an exception").type_name, "EOFError");
    }

    fn input_is_a_pipe_of_our_own(_who) {
        // Whatever the caller has, the guest holds a pipe: what it sets there does not change the caller's end.
        let (reader, mut writer) = std::io::pipe().expect("a pipe");
        let flags = |fd: &OwnedFd| rustix::fs::fcntl_getfl(fd).expect("flags");
        let kept = OwnedFd::from(reader.try_clone().expect("a copy"));
        let before = flags(&kept);
        let mut job = code("import os, stat\nos.set_blocking(0, False)\nprint(os.isatty(0), stat.S_ISFIFO(os.fstat(0).st_mode), os.fstat(0).st_ino)");
        job.stdin = Stdin::Copy(OwnedFd::from(reader));
        writer.write_all(b"x").expect("input");
        let outcome = jar(|_| {}).either(job).expect("an outcome");
        let theirs = rustix::fs::fstat(&kept).expect("stat").st_ino;
        let text = stdout(&outcome);
        let words: Vec<&str> = text.split_whitespace().collect();
        assert_eq!(words[..2], ["False", "True"], "{}", told(&outcome));
        assert_ne!(words[2], theirs.to_string());
        assert_eq!(flags(&kept), before);
    }

    fn code_from_standard_input_runs_as_plain_python_runs_it(_who) {
        let mut job = belljar::Job::new(belljar::job::Program::Code { source: b"import sys; print(sys.argv, __file__)".to_vec(), from_stdin: true });
        job.args = vec!["one".into()];
        let outcome = jar(|_| {}).either(job).expect("an outcome");
        assert_eq!(stdout(&outcome), "['-', 'one'] <stdin>\n", "{}", told(&outcome));
    }
}
