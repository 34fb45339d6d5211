//! Any bytes as a list of segments between few ends, so that the engine and the rules see what makes some sense.
//!
//! Twelve bytes a segment; each says how it differs from what its sender would send next.
#![no_main]

use libfuzzer_sys::fuzz_target;

const SEGMENT: usize = 12;

/// What an end would send next.
#[derive(Clone, Copy)]
struct End {
    next: u32,
    seen: u32,
    id: u16,
}

/// A small step about zero, rarely a large one.
fn offset(byte: u8) -> u32 {
    match byte {
        0..=127 => 0,
        128..=191 => u32::from(byte - 128),
        192..=247 => u32::from(byte - 192).wrapping_neg(),
        _ => u32::from(byte).wrapping_mul(0x0101_0101),
    }
}

/// Flags: mostly those that connections are made of.
fn flags(byte: u8) -> u8 {
    const USUAL: [u8; 8] = [0x02, 0x12, 0x10, 0x18, 0x11, 0x04, 0x14, 0x19];
    if byte < 224 { USUAL[usize::from(byte % 8)] } else { byte.wrapping_mul(37) }
}

fuzz_target!(|bytes: &[u8]| {
    let mut file = Vec::new();
    for word in [0xa1b2_3c4d_u32, 0x0004_0002, 0, 0, 65_535, 101] {
        file.extend(word.to_le_bytes());
    }
    let mut ends = [End { next: 1_000, seen: 0, id: 7 }; 4];
    let mut now = 1_700_000_000_000_000_000_u64;
    for step in bytes.chunks_exact(SEGMENT).take(200) {
        let pair = usize::from(step[0] & 2);
        let from = pair | usize::from(step[0] & 1);
        let to = from ^ 1;
        now = now.wrapping_add(match step[1] {
            0..=200 => u64::from(step[1]) * 1_000,
            201..=240 => u64::from(step[1] - 200) * 50_000_000,
            241..=253 => u64::from(step[1] - 240) * 10_000_000_000,
            _ => u64::MAX - 5_000_000,
        });
        let flags = flags(step[2]);
        let payload = usize::from(step[3] % 64) * usize::from(step[3] > 100);
        let end = &mut ends[from];
        let seq = end.next.wrapping_add(offset(step[4]));
        let ack = end.seen.wrapping_add(offset(step[5]));
        end.id = end.id.wrapping_add(u16::from(step[6] < 240));
        let id = end.id.wrapping_add(offset(step[6]) as u16);
        let ttl = if step[7] > 240 { step[7] } else { 64 };
        let window = u16::from_le_bytes([step[8], step[9]]);
        let mut options = Vec::new();
        if step[10] > 128 {
            options.extend([1, 1, 8, 10]);
            options.extend(((now / 1_000_000) as u32).wrapping_add(offset(step[11])).to_be_bytes());
            options.extend(0_u32.to_be_bytes());
        }
        if flags & 2 != 0 {
            options.extend([2, 4, 5, 180, 3, 3, step[10] % 15, 1]);
        }
        let end = seq
            .wrapping_add(payload as u32)
            .wrapping_add(u32::from(flags & 2 != 0))
            .wrapping_add(u32::from(flags & 1 != 0));
        ends[from].next = end;
        ends[to].seen = end;

        let mut packet = vec![0x45, 0];
        packet.extend(((40 + options.len() + payload) as u16).to_be_bytes());
        packet.extend(id.to_be_bytes());
        packet.extend([0x40, 0, ttl, 6, 0, 0]);
        packet.extend([10, 0, 0, from as u8, 10, 0, 0, to as u8]);
        for at in [from, to] {
            let port: u16 = if at % 2 == 0 { 50_000 + at as u16 } else { 80 };
            packet.extend(port.to_be_bytes());
        }
        packet.extend(seq.to_be_bytes());
        packet.extend(ack.to_be_bytes());
        packet.extend([((20 + options.len()) * 4) as u8, flags]);
        packet.extend(window.to_be_bytes());
        packet.extend([0; 4]);
        packet.extend(&options);
        packet
            .extend(b"GET / HTTP/1.1\r\nHost: example.org\r\nConnection: keep-alive\r\n\r\n....".iter().take(payload));
        file.extend(((now / 1_000_000_000) as u32).to_le_bytes());
        file.extend(((now % 1_000_000_000) as u32).to_le_bytes());
        file.extend((packet.len() as u32).to_le_bytes());
        file.extend((packet.len() as u32).to_le_bytes());
        file.extend(packet);
    }
    let trace = finwait_fuzz::read(&file).expect("a capture that is made right opens");
    finwait_fuzz::all_of(&trace);
});
