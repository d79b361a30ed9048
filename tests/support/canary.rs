//! Things on the host that no guest may touch, and that tell when one did.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener};
use std::path::{Path, PathBuf};

/// A tree as it was: inode, size, change times and mode of everything in it, and the content of files.
#[derive(Debug, PartialEq, Eq)]
pub struct Tree(BTreeMap<PathBuf, Entry>);

#[derive(Debug, PartialEq, Eq)]
struct Entry {
    inode: u64,
    links: u64,
    mode: u32,
    owner: (u32, u32),
    changed: (i64, i64),
    content: Option<Vec<u8>>,
}

impl Tree {
    /// Looks at everything below `root`; contents only with `read`.
    pub fn look(root: &Path, read: bool) -> io::Result<Self> {
        let mut found = BTreeMap::new();
        let mut open = vec![root.to_path_buf()];
        while let Some(path) = open.pop() {
            let metadata = fs::symlink_metadata(&path)?;
            if metadata.is_dir() {
                for entry in fs::read_dir(&path)? {
                    open.push(entry?.path());
                }
            }
            let content = if read && metadata.is_file() {
                Some(fs::read(&path)?)
            } else {
                None
            };
            let entry = Entry {
                inode: metadata.ino(),
                links: metadata.nlink(),
                mode: metadata.mode(),
                owner: (metadata.uid(), metadata.gid()),
                changed: (metadata.ctime(), metadata.ctime_nsec()),
                content,
            };
            found.insert(path, entry);
        }
        Ok(Self(found))
    }

    /// What differs, as paths.
    pub fn differs(&self, other: &Self) -> Vec<PathBuf> {
        let all = self.0.keys().chain(other.0.keys());
        let mut paths: Vec<PathBuf> = all
            .filter(|path| self.0.get(*path) != other.0.get(*path))
            .cloned()
            .collect();
        paths.sort();
        paths.dedup();
        paths
    }
}

/// Listeners on the host. Nothing in a jar may reach one.
#[derive(Debug)]
pub struct Listeners {
    tcp: [TcpListener; 2],
    udp: UdpSocket,
    stream: [UnixListener; 2],
    datagram: UnixDatagram,
    /// Port of the listener on 127.0.0.1.
    pub tcp_port: u16,
    /// Port of the listener on ::1.
    pub tcp6_port: u16,
    /// Port of the datagram socket on 127.0.0.1.
    pub udp_port: u16,
    /// Abstract name of a stream listener; the datagram socket has `-dgram` behind it.
    pub name: String,
    /// Path of a stream listener.
    pub path: PathBuf,
}

impl Listeners {
    /// Opens them; the path listener in `folder`.
    pub fn open(folder: &Path, name: &str) -> io::Result<Self> {
        let tcp = [
            TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?,
            TcpListener::bind((Ipv6Addr::LOCALHOST, 0))?,
        ];
        let udp = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
        let path = folder.join("socket");
        let stream = [
            UnixListener::bind(&path)?,
            UnixListener::bind_addr(&SocketAddr::from_abstract_name(name)?)?,
        ];
        fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o777))?;
        let datagram = UnixDatagram::bind_addr(&SocketAddr::from_abstract_name(format!("{name}-dgram"))?)?;
        tcp.iter()
            .try_for_each(|listener| listener.set_nonblocking(true))?;
        stream
            .iter()
            .try_for_each(|listener| listener.set_nonblocking(true))?;
        udp.set_nonblocking(true)?;
        datagram.set_nonblocking(true)?;
        Ok(Self {
            tcp_port: tcp[0].local_addr()?.port(),
            tcp6_port: tcp[1].local_addr()?.port(),
            udp_port: udp.local_addr()?.port(),
            name: name.into(),
            path,
            tcp,
            udp,
            stream,
            datagram,
        })
    }

    /// Everything that arrived since the last look.
    pub fn heard(&self) -> Vec<&'static str> {
        let mut heard = Vec::new();
        for (listener, what) in self.tcp.iter().zip(["tcp", "tcp6"]) {
            while listener.accept().is_ok() {
                heard.push(what);
            }
        }
        for (listener, what) in self.stream.iter().zip(["unix path", "unix abstract"]) {
            while listener.accept().is_ok() {
                heard.push(what);
            }
        }
        while self.udp.recv(&mut [0; 64]).is_ok() {
            heard.push("udp");
        }
        while self.datagram.recv(&mut [0; 64]).is_ok() {
            heard.push("unix datagram");
        }
        heard
    }
}
