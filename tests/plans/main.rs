//! Plans on pretended hosts: what would be built there, or why it is refused. Nothing here touches the kernel.

mod hosts;
mod packages;
mod policies;
mod promises;
mod trees;
