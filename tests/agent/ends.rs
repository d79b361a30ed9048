//! However a client goes, its agent goes with everything that it owns, and not before.

use std::io::{BufRead, BufReader, Lines};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use crate::ending;
use crate::leaks::{descendants, family};

const CLIENT: &str = include_str!("client.py");

/// A client in Python, in a process group of its own, that runs this below its definitions.
fn client(body: &str) -> (Child, Lines<BufReader<ChildStdout>>) {
    let mut child = Command::new("/usr/bin/python3")
        .args(["-c", &format!("{CLIENT}\n{body}")])
        .arg(std::env::var_os("BELLJAR_BIN").expect("BELLJAR_BIN"))
        .arg(env!("CARGO_PKG_VERSION"))
        .stdout(Stdio::piped())
        .process_group(0)
        .spawn()
        .expect("a client");
    let lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    (child, lines)
}

fn numbers(line: Option<std::io::Result<String>>) -> Vec<i32> {
    let line = line.expect("a line").expect("a line");
    line.split_whitespace()
        .map(|word| word.parse().unwrap_or_else(|_| panic!("{line}")))
        .collect()
}

fn kill(pid: i32, signal: Signal) {
    kill_process(Pid::from_raw(pid).expect("a pid"), signal).expect("to send a signal");
}

fn alive(pid: i32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(')')
        .is_some_and(|(_, rest)| !rest.trim_start().starts_with(['Z', 'X']))
}

/// Waits until no more than these processes are left.
#[track_caller]
fn emptied(but: &[i32]) {
    let others = || family().into_iter().filter(|pid| !but.contains(&(*pid as i32)));
    assert_eq!(ending::wait(|| others().collect()), Vec::<String>::new());
}

both! {
    fn killed_client_takes_everything_along_though_its_child_holds_the_socket(_who) {
        let (mut python, mut lines) = client("
client = Client(*sys.argv[1:])
client.busy(3)
child = os.fork()
if child == 0:
    time.sleep(600)
tell(client.agent.pid, child)
time.sleep(600)");
        let pids = numbers(lines.next());
        let (agent, child) = (pids[0], pids[1]);
        assert!(alive(agent) && descendants().len() > 6, "{:?}", descendants());
        kill(python.id() as i32, Signal::KILL);
        python.wait().expect("its end");
        // The child alone is left, with the socket.
        emptied(&[child]);
        assert!(!alive(agent) && alive(child));
        kill(child, Signal::KILL);
        emptied(&[]);
    }

    fn client_that_ends_in_order_takes_everything_along(_who) {
        for end in ["client.socket.close(); client.agent.wait(); tell(0); time.sleep(600)", "tell(0)", "tell(0); os._exit(0)", "tell(0); os.abort()"] {
            let (mut python, mut lines) = client(&format!("
client = Client(*sys.argv[1:])
client.busy(2)
{end}"));
            numbers(lines.next());
            let stays = end.ends_with("sleep(600)");
            if !stays {
                python.wait().expect("its end");
            }
            let stay = [python.id() as i32];
            emptied(if stays { &stay } else { &[] });
            if stays {
                kill(python.id() as i32, Signal::KILL);
                python.wait().expect("its end");
            }
        }
    }

    fn killed_agent_takes_everything_along(_who) {
        let (mut python, mut lines) = client("
client = Client(*sys.argv[1:])
client.busy(3)
tell(client.agent.pid)
try:
    client.receive()
except (EOFError, ConnectionResetError):
    tell(0)
time.sleep(600)");
        let agent = numbers(lines.next())[0];
        kill(agent, Signal::KILL);
        assert_eq!(numbers(lines.next()), [0], "the client hears of it");
        // The agent is a zombie until the client waits for it.
        emptied(&[python.id() as i32, agent]);
        kill(python.id() as i32, Signal::KILL);
        python.wait().expect("its end");
        emptied(&[]);
    }

    fn interrupt_of_the_clients_group_does_not_reach_the_agent(_who) {
        let (mut python, mut lines) = client("
signal.signal(signal.SIGINT, lambda *_: tell(1))
client = Client(*sys.argv[1:])
client.busy(1)
tell(os.getsid(client.agent.pid) == client.agent.pid and os.getpgid(client.agent.pid) != os.getpgid(0))
signal.pause()
time.sleep(0.2)
client.request(STATS, {})
tell(client.receive()[2]['running'])
client.send(CANCEL, 2, {})
kind, number, *_ = client.receive()
tell(kind == OUTCOME)");
        assert_eq!(lines.next().expect("a line").expect("a line"), "True", "a session and a group of its own");
        std::thread::sleep(Duration::from_millis(100));
        kill_process_group(Pid::from_raw(python.id() as i32).expect("a pid"), Signal::INT).expect("to interrupt it");
        assert_eq!(numbers(lines.next()), [1], "the client has it");
        assert_eq!(numbers(lines.next()), [1], "the job runs");
        assert_eq!(lines.next().expect("a line").expect("a line"), "True");
        assert!(python.wait().expect("its end").success());
        emptied(&[]);
    }

    fn agent_outlives_the_thread_that_started_it(_who) {
        let (mut python, mut lines) = client("
def start():
    global client
    client = Client(*sys.argv[1:])
thread = threading.Thread(target=start)
thread.start()
thread.join()
time.sleep(0.2)
sandbox = client.open()
client.code(sandbox, b'print(42)')
kind, _, header, body = client.receive()
tell(42 if kind == OUTCOME and b'42' in body else 0)");
        assert_eq!(numbers(lines.next()), [42]);
        assert!(python.wait().expect("its end").success());
        emptied(&[]);
    }
}
