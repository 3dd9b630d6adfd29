//! Just enough gzip (RFC 1951, RFC 1952) to serve packed feeds and to fill disks.

/// A valid gzip file of `bytes`, stored without compression.
pub fn packed(bytes: &[u8]) -> Vec<u8> {
    let mut deflated = Vec::new();
    for block in bytes.chunks(0x7fff) {
        let length = u16::try_from(block.len()).unwrap_or(u16::MAX);
        deflated.push(0);
        deflated.extend_from_slice(&length.to_le_bytes());
        deflated.extend_from_slice(&(!length).to_le_bytes());
        deflated.extend_from_slice(block);
    }
    deflated.extend_from_slice(&[1, 0, 0, 0xff, 0xff]);
    file(&deflated, crc32(bytes.iter().copied()), bytes.len())
}

/// A valid gzip file of at least `length` zeros in about a 158th of the space: one literal, then
/// "258 bytes, as one byte ago", over and over. Of more than 64 MiB the sum at the end is wrong: it
/// takes long, and nobody should come to read it.
pub fn packed_zeros(length: usize) -> Vec<u8> {
    const LONGEST_MATCH: usize = 258;
    let matches = length.div_ceil(LONGEST_MATCH);
    let mut bits = Bits::default();
    bits.push(0b1, 1); // the last block
    bits.push(0b01, 2); // of fixed codes
    bits.push(0b0000_1100, 8); // literal 0 (code 00110000, most significant bit first)
    for _ in 0..matches {
        bits.push(0b1010_0011, 8); // length 258 (code 11000101)
        bits.push(0, 5); // distance 1
    }
    bits.push(0, 7); // end of block
    let zeros = 1 + matches * LONGEST_MATCH;
    let summed = if zeros > 64 << 20 { 0 } else { zeros };
    file(&bits.finish(), crc32(std::iter::repeat_n(0, summed)), zeros)
}

fn file(deflated: &[u8], crc: u32, length: usize) -> Vec<u8> {
    let mut file = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff];
    file.extend_from_slice(deflated);
    file.extend_from_slice(&crc.to_le_bytes());
    let length = u32::try_from(length).expect("less than 4 GiB");
    file.extend_from_slice(&length.to_le_bytes());
    file
}

/// Fills bytes from their least significant bit.
#[derive(Default)]
struct Bits {
    bytes: Vec<u8>,
    pending: u32,
    used: u32,
}

impl Bits {
    fn push(&mut self, value: u32, count: u32) {
        self.pending |= value << self.used;
        self.used += count;
        while self.used >= 8 {
            self.bytes.push(self.pending.to_le_bytes()[0]);
            self.pending >>= 8;
            self.used -= 8;
        }
    }

    fn finish(mut self) -> Vec<u8> {
        self.push(0, (8 - self.used) % 8);
        self.bytes
    }
}

fn crc32(bytes: impl Iterator<Item = u8>) -> u32 {
    !bytes.fold(u32::MAX, |crc, byte| {
        (0..8).fold(crc ^ u32::from(byte), |crc, _| {
            (crc >> 1) ^ (0xedb8_8320 & (crc & 1).wrapping_neg())
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_the_one_everybody_uses() {
        assert_eq!(crc32(b"123456789".iter().copied()), 0xcbf4_3926);
    }
}
