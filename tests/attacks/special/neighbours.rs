//! Two jars at once, a jar and its host, a jar whose warden dies.

use std::net::TcpStream;

use super::{request, solo};
use crate::ending;
use crate::observers::Room;
use crate::seam;
use crate::stage::{Stage, Start, Who};
use crate::support::procfs;

/// One guest leaves things lying about and waits; another looks for them.
pub fn two(stage: &Stage, who: Who) -> Result<Vec<String>, String> {
    let scene = stage.scene(who)?;
    let result = (|| {
        let mut first = seam::start(
            stage,
            who,
            &request(&scene, include_str!("resident.py"), &[], &[])?,
            &[],
        )?;
        let mut said = Vec::new();
        if !first.read(&mut said)? {
            return Err(format!(
                "the first guest did not stay: {:?}",
                first.finish(stage)?
            ));
        }
        let wrong = meet(stage, who, &first);
        first.finish(stage)?;
        wrong
    })();
    stage.clear(scene);
    result
}

fn meet(stage: &Stage, who: Who, first: &seam::Live) -> Result<Vec<String>, String> {
    let resident = Room::find(first, Start::Cold)?;
    let pid = resident.guest;
    let visit = |without: &[&str]| {
        solo(
            stage,
            who,
            include_str!("visitor.py"),
            (&[], without),
            &[],
            |_, request| {
                request.facts.insert("pid".into(), pid.into());
                Ok(())
            },
        )
    };
    let found = visit(&[])?;
    let mut wrong = Vec::new();
    for (probe, wanted) in [
        ("signal the other guest", "ESRCH"),
        ("open its /proc", "ENOENT"),
        ("find its message queue", "ENOENT"),
        ("find its segment", "ENOENT"),
        ("find its shared memory", "ENOENT"),
        ("find its file", "ENOENT"),
        ("connect to its abstract socket", "ECONNREFUSED"),
    ] {
        wrong.extend(found.want(probe, wanted));
    }
    // The control: what the first guest left can be found by whoever is let into the namespaces of the host.
    let seen = visit(&["pid namespace", "landlock"])?;
    wrong.extend(
        seen.want("open its /proc", "ok")
            .map(|text| format!("control: {text}")),
    );
    wrong.extend(distinct(stage, who, &resident)?);
    if !procfs::alive(pid) {
        wrong.push("the first guest did not survive the visit".into());
    }
    Ok(wrong)
}

/// One guest keeps descriptors in flight; another jar starts all the same, though its caller may have few.
pub fn in_flight(stage: &Stage, who: Who) -> Result<Vec<String>, String> {
    let scene = stage.scene(who)?;
    let result = (|| {
        let request = request(&scene, include_str!("in_flight.py"), &[], &[])?;
        let mut first = seam::start(stage, who, &request, &[])?;
        let mut said = Vec::new();
        if !first.read(&mut said)? || !said.iter().any(|(_, saw)| saw == "enough") {
            return Err(format!(
                "the first guest said {said:?}: {:?}",
                first.finish(stage)?
            ));
        }
        let source = "print('{\"probe\": \"start\", \"saw\": \"ok\"}')";
        let second = |limit: &str| {
            let prefix = ["/usr/bin/prlimit", limit];
            // As its own warden: a library's caller sends descriptors too, by a limit that is not belljar's to raise.
            solo(stage, who, source, (&["own warden"], &[]), &prefix, |_, _| Ok(()))
        };
        let mut wrong: Vec<String> = second("--nofile=1000:")?
            .want("start", "ok")
            .into_iter()
            .collect();
        // The control: a caller that may not raise its limit is stopped. Root's jars are different users.
        if who == Who::User && second("--nofile=1000:1000")?.saw("start").is_some() {
            wrong.push("control: the second jar starts without being allowed more".into());
        }
        first.finish(stage)?;
        Ok(wrong)
    })();
    stage.clear(scene);
    result
}

/// No namespace of one jar is another's.
fn distinct(stage: &Stage, who: Who, resident: &Room) -> Result<Vec<String>, String> {
    let scene = stage.scene(who)?;
    let result = (|| {
        let mut second = seam::start(
            stage,
            who,
            &request(&scene, include_str!("resident.py"), &[], &[])?,
            &[],
        )?;
        second.read(&mut Vec::new())?;
        let other = Room::find(&second, Start::Cold)?;
        let (ours, theirs) = (
            procfs::namespaces(resident.guest),
            procfs::namespaces(other.guest),
        );
        let uids = [resident.guest, other.guest].map(|pid| procfs::status(pid, pid).ok()?.remove("Uid"));
        second.finish(stage)?;
        let (ours, theirs) = (
            ours.map_err(|error| error.to_string())?,
            theirs.map_err(|error| error.to_string())?,
        );
        let kinds = ["user", "mnt", "pid", "net", "ipc", "uts", "cgroup"];
        let shared = kinds.iter().filter(|kind| ours.get(**kind) == theirs.get(**kind));
        let mut wrong: Vec<String> = shared
            .map(|kind| format!("two jars share one {kind} namespace"))
            .collect();
        // A plain user has but one id to give.
        if who == Who::Root && uids[0] == uids[1] {
            wrong.push(format!("two jars are one user on the host: {uids:?}"));
        }
        Ok(wrong)
    })();
    stage.clear(scene);
    result
}

/// The host knocks at a port that a guest listens on.
pub fn listens(stage: &Stage, who: Who) -> Result<Vec<String>, String> {
    let mut wrong = Vec::new();
    for (without, wanted) in [(&[][..], false), (&["network namespace"][..], true)] {
        let scene = stage.scene(who)?;
        let result = (|| {
            let request = request(&scene, include_str!("listener.py"), &["loopback"], without)?;
            let mut live = seam::start(stage, who, &request, &[])?;
            let mut said = Vec::new();
            live.read(&mut said)?;
            let port = said
                .iter()
                .find(|(probe, _)| probe == "port")
                .and_then(|(_, port)| port.parse().ok());
            let reached = port.map(|port: u16| TcpStream::connect(("127.0.0.1", port)).is_ok());
            let report = live.finish(stage)?;
            reached.ok_or_else(|| format!("the guest does not listen: {report:?}"))
        })();
        stage.clear(scene);
        if result? != wanted {
            wrong.push(format!(
                "with {without:?} taken out, reaching the guest gave {}",
                !wanted
            ));
        }
    }
    Ok(wrong)
}

/// The warden is killed while the guest and its daemons ignore every signal they can.
pub fn dead_warden(stage: &Stage, who: Who) -> Result<Vec<String>, String> {
    let scene = stage.scene(who)?;
    let result = (|| {
        let mut live = seam::start(
            stage,
            who,
            &request(&scene, include_str!("daemons.py"), &[], &[])?,
            &[],
        )?;
        if !live.read(&mut Vec::new())? {
            return Err(format!("the guest did not stay: {:?}", live.finish(stage)?));
        }
        let room = Room::find(&live, Start::Cold)?;
        let warden = procfs::stat(room.init).ok_or("no init")?.1;
        let mut jar = procfs::children(room.init);
        jar.push(room.init);
        if jar.len() < 4 {
            return Err(format!("the guest has started {} processes only", jar.len()));
        }
        let pid = rustix::process::Pid::from_raw(warden as i32).ok_or("no warden")?;
        rustix::process::kill_process(pid, rustix::process::Signal::KILL)
            .map_err(|error| error.to_string())?;
        let left = ending::wait(|| jar.iter().copied().filter(|pid| procfs::alive(*pid)).collect());
        let _ = live.finish(stage);
        // Whoever is killed cannot tidy up; the next run of the same owner sweeps the group away, and here the test does.
        remove_groups(warden);
        let told = left
            .iter()
            .map(|process| format!("outlives its warden: {process}"));
        Ok(told.collect())
    })();
    stage.clear(scene);
    result
}

fn remove_groups(warden: u32) {
    for group in crate::support::leaks::groups(warden) {
        let _ = std::fs::remove_dir(group);
    }
}
