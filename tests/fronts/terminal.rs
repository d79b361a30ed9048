//! `shell` on a real terminal of its own, and Ctrl-C.
