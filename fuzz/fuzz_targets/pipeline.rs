//! Any bytes as a capture, the whole way to every export.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Some(trace) = finwait_fuzz::read(bytes) {
        finwait_fuzz::all_of(&trace);
    }
});
