//! Real cabinets, on this kernel, as whoever runs the tests.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use super::*;
use crate::{Host, Policy};

fn binary() -> std::path::PathBuf {
    client::find_binary(None).expect("the belljar binary: `cargo build` makes it")
}

fn open(preload: &[&str]) -> Cabinet {
    // The pool makes the cgroups of jars, and there is none here.
    let host = Host {
        cgroup: crate::host::Cgroup::None {
            reason: "none is wanted".into(),
        },
        ..Host::probe()
    };
    let plan = crate::prepare(&Policy::default(), &host).unwrap();
    assert_eq!(unfit(&plan), None);
    let spec = Spec {
        preload: preload.iter().map(|name| (*name).to_owned()).collect(),
        asked: true,
        rotate_jobs: 100,
        rotate_after: Duration::from_secs(3600),
    };
    Cabinet::open(&binary(), &plan, None, &spec).unwrap()
}

fn next(cabinet: &Cabinet) -> Event {
    cabinet.receive().unwrap().expect("the cabinet is gone")
}

fn parked(cabinet: &Cabinet, number: u64) -> Parked {
    cabinet.make(number, false, Vec::new(), &[]).unwrap();
    loop {
        match next(cabinet) {
            Event::Told(Told::Ready { .. }) => {}
            Event::Parked(parked) => return *parked,
            other => panic!("{other:?}"),
        }
    }
}

fn run(parked: Parked, code: &[u8]) -> (u8, String) {
    let header = format!(r#"{{"kind": "code", "parts": [{}]}}"#, code.len());
    let mut frame = vec![32, 1, 0, 0];
    frame.extend((header.len() as u32).to_le_bytes());
    frame.extend((code.len() as u64).to_le_bytes());
    frame.extend(header.as_bytes());
    frame.extend(code);
    // No job is shorter.
    frame.resize(frame.len().max(1024), 0);
    let mut control = UnixStream::from(parked.control);
    control.write_all(&frame).unwrap();
    drop(parked.stdin);
    let mut printed = String::new();
    rustix::io::ioctl_fionbio(&parked.stdout, false).unwrap();
    std::fs::File::from(parked.stdout)
        .read_to_string(&mut printed)
        .unwrap();
    let mut prefix = [0; 16];
    control.read_exact(&mut prefix).unwrap();
    (prefix[0], printed)
}

#[test]
fn a_worker_is_parked_and_runs_one_job() {
    let cabinet = open(&["json"]);
    for number in 1..4 {
        let parked = parked(&cabinet, number);
        let (kind, printed) = run(
            parked,
            b"import os, json; print(os.getpid(), os.getcwd(), os.listdir('/jar'))",
        );
        assert_eq!((kind, printed.as_str()), (1, "2 /jar []\n"));
    }
}
