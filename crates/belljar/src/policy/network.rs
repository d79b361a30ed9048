//! What a guest can reach, and what that means for each part of a jar.

use serde::{Deserialize, Serialize};

use crate::named::names;

/// What a guest can reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Network {
    /// No network at all; not even a loopback.
    None,
    /// A loopback of its own, up, that nobody else can reach.
    Loopback,
    /// The host's network, shared. The guest can reach whatever the host can.
    Host,
}

names!(Network {
    None = "none",
    Loopback = "loopback",
    Host = "host",
});

/// Who answers when a guest asks for a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Resolver {
    /// Nobody: its list of name servers is empty.
    Nobody,
    /// Whoever answers the host.
    Host,
}

/// One line of the table below.
struct Reach {
    own_namespace: bool,
    own_loopback: bool,
    sockets: bool,
    resolver: Resolver,
}

impl Network {
    /// Everything that depends on it. Whoever builds, seals or checks a jar asks one of the questions below, so that another
    /// network is a line here and not a comparison somewhere that nobody thought of.
    const fn reach(self) -> Reach {
        let (own_namespace, own_loopback, sockets, resolver) = match self {
            Self::None => (true, false, false, Resolver::Nobody),
            Self::Loopback => (true, true, true, Resolver::Nobody),
            Self::Host => (false, false, true, Resolver::Host),
        };
        Reach {
            own_namespace,
            own_loopback,
            sockets,
            resolver,
        }
    }

    /// Whether the jar has a network namespace of its own; otherwise it is in the host's.
    pub const fn has_own_namespace(self) -> bool {
        self.reach().own_namespace
    }

    /// Whether a loopback is up in the jar's own namespace.
    pub const fn has_own_loopback(self) -> bool {
        self.reach().own_loopback
    }

    /// Whether the guest may make internet sockets, and use TCP.
    pub const fn may_open_sockets(self) -> bool {
        self.reach().sockets
    }

    /// Who answers the guest's questions for names.
    pub const fn resolver(self) -> Resolver {
        self.reach().resolver
    }
}
