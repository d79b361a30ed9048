//! From a policy back to a document: every key is written, so that what was left out can be seen.

use std::fmt::Write as _;
use std::path::Path;

use super::{Access, Network, Policy, Tier, WorkdirMode, format_duration, format_size};

impl Policy {
    /// The policy as a document. Read back it gives the same policy, unless a path in it is no UTF-8.
    pub fn to_toml(&self) -> String {
        let mut text = String::new();
        let mut line = |key: &str, value: String| writeln!(text, "{key} = {value}").unwrap_or_default();
        if let Some(python) = &self.python {
            line("python", quote(python));
        }
        if let Some(venv) = &self.venv {
            line("venv", path(venv));
        }
        line("system", self.system.to_string());
        line("site_packages", self.site_packages.to_string());
        line("locks", self.locks.to_string());
        line(
            "network",
            quote(match self.network {
                Network::None => "none",
                Network::Loopback => "loopback",
                Network::Host => "host",
            }),
        );
        let mounts = self.mounts.iter().map(|mount| {
            let access = match mount.access {
                Access::ReadOnly => "ro",
                Access::ReadWrite => "rw",
            };
            let (source, target) = (path(&mount.source), path(&mount.target));
            format!("{{ source = {source}, target = {target}, access = \"{access}\" }}")
        });
        line("mount", list(mounts));
        if let Some(workdir) = &self.workdir {
            let mode = match workdir.mode {
                WorkdirMode::Read => "read",
                WorkdirMode::Write => "write",
                WorkdirMode::Draft => "draft",
                WorkdirMode::Apply => "apply",
            };
            let (source, target) = (path(&workdir.source), path(&workdir.target));
            line(
                "workdir",
                format!("{{ source = {source}, target = {target}, mode = \"{mode}\" }}"),
            );
        }
        let env: Vec<String> = self
            .env
            .iter()
            .map(|(name, value)| format!("{} = {}", quote(name), quote(value)))
            .collect();
        line(
            "env",
            if env.is_empty() {
                "{}".into()
            } else {
                format!("{{ {} }}", env.join(", "))
            },
        );
        let limits = &self.limits;
        line(
            "timeout",
            quote(&limits.timeout.map_or("none".into(), format_duration)),
        );
        line("memory", quote(&format_size(limits.memory)));
        // The debug form keeps the point, and reads back to the same bits.
        line("cpus", format!("{:?}", limits.cpus));
        line(
            "cpu_seconds",
            limits
                .cpu_seconds
                .map_or(quote("none"), |seconds| format!("{seconds:?}")),
        );
        line("pids", limits.pids.to_string());
        line("disk", quote(&format_size(limits.disk)));
        line("inodes", limits.inodes.to_string());
        line("open_files", limits.open_files.to_string());
        line(
            "file_size",
            quote(&limits.file_size.map_or("none".into(), format_size)),
        );
        line("output", quote(&format_size(limits.output)));
        line(
            "require",
            quote(match self.require.tier {
                Tier::Sealed => "sealed",
                Tier::Screened => "screened",
            }),
        );
        line(
            "require_layers",
            list(self.require.layers.iter().map(|layer| quote(layer.name()))),
        );
        text
    }
}

fn list(items: impl Iterator<Item = String>) -> String {
    format!("[{}]", items.collect::<Vec<_>>().join(", "))
}

fn path(path: &Path) -> String {
    quote(&path.to_string_lossy())
}

fn quote(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}
