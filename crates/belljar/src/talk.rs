//! What an engine and a warden say to each other, over one socket, for as long as a job or a cabinet lasts.
//!
//! The engine asks once ([`Asked`]). While a job runs both speak: the warden says what the guest prints and says
//! ([`Reply`]), the engine what its caller wants ([`Order`]). The last reply is the outcome. A pool's caller speaks to a
//! warm run in the same way, over a socket inside of one process.
//!
//! Both ends are of one version of this program, and a message is read as carefully as if they were not.

mod channel;
mod opening;
mod order;
mod parcel;
mod reply;
mod request;

use serde::{Deserialize, Serialize};

pub(crate) use channel::{Inbox, message, send};
pub(crate) use opening::{Opening, Spec};
pub(crate) use order::Order;
pub(crate) use parcel::{ParcelHead, carried};
pub(crate) use reply::Reply;
pub(crate) use request::Request;

/// Both sides must be of one version.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Raw parts of a message.
pub(crate) type Blobs = Vec<Vec<u8>>;

/// What an engine asks of a warden: its first message, and the only one that begins something.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Asked {
    Job(Box<Request>),
    Cabinet(Box<Opening>),
}
