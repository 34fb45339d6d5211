//! Any bytes as a file: every packet is handed out, and the reader ends.
#![no_main]

use finwait::capture::{Input, Reader};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let file = finwait_fuzz::file(bytes);
    let Ok(mut reader) = Reader::open(&Input::File(file.path().to_owned()), 1) else { return };
    while reader.next_packet().is_some() {}
    let _ = reader.finish();
});
