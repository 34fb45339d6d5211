//! The numbers of blocks and their options, by the names of the format's specification (draft-ietf-opsawg-pcapng).

/// Section header.
pub const SECTION: u32 = 0x0a0d_0d0a;
/// Interface description.
pub const INTERFACE: u32 = 1;
/// The obsolete packet.
pub const OLD_PACKET: u32 = 2;
/// Simple packet.
pub const SIMPLE_PACKET: u32 = 3;
/// Name resolution.
pub const NAMES: u32 = 4;
/// Interface statistics.
pub const STATISTICS: u32 = 5;
/// Enhanced packet.
pub const PACKET: u32 = 6;

/// `opt_comment`, of any block.
pub const COMMENT: u16 = 1;
/// `shb_hardware`
pub const SHB_HARDWARE: u16 = 2;
/// `shb_os`
pub const SHB_OS: u16 = 3;
/// `shb_userappl`
pub const SHB_USERAPPL: u16 = 4;
/// `if_name`
pub const IF_NAME: u16 = 2;
/// `if_description`
pub const IF_DESCRIPTION: u16 = 3;
/// `if_tsresol`
pub const IF_TSRESOL: u16 = 9;
/// `if_filter`
pub const IF_FILTER: u16 = 11;
/// `if_tsoffset`
pub const IF_TSOFFSET: u16 = 14;
/// `epb_flags`
pub const EPB_FLAGS: u16 = 2;
/// `epb_dropcount`
pub const EPB_DROPCOUNT: u16 = 4;
/// `isb_ifdrop`
pub const ISB_IFDROP: u16 = 5;
/// `isb_osdrop`
pub const ISB_OSDROP: u16 = 7;
/// `nrb_record_ipv4`
pub const NRB_IPV4: u16 = 1;
/// `nrb_record_ipv6`
pub const NRB_IPV6: u16 = 2;
