//! Work on many files, shared by a few threads that are gone when it is done.

use std::io;
use std::thread;

/// How many of so many items a thread takes; a short list is not worth any but this one.
pub(super) fn size(count: usize) -> usize {
    let processors = thread::available_parallelism().map_or(1, usize::from);
    let threads = if count < 16 { 1 } else { processors.min(4) };
    count.div_ceil(threads).max(1)
}

/// Does something for each item of each part; what comes of it is in order. This thread takes the first part: starting one costs
/// as much as looking at a hundred files.
pub(super) fn each<Part, Made>(
    mut parts: impl Iterator<Item = Part>,
    act: impl Fn(Part::Item) -> io::Result<Made> + Sync,
) -> io::Result<Vec<Made>>
where
    Part: IntoIterator + Send,
    Made: Send,
{
    let own = parts.next();
    thread::scope(|scope| {
        let act = &act;
        let all = move |part: Part| part.into_iter().map(act).collect::<io::Result<Vec<_>>>();
        let others: Vec<_> = parts.map(|part| scope.spawn(move || all(part))).collect();
        let mut made = own.map_or(Ok(Vec::new()), all)?;
        for part in others {
            let part = part
                .join()
                .map_err(|_| io::Error::other("a thread of ours fell over"))?;
            made.extend(part?);
        }
        Ok(made)
    })
}
