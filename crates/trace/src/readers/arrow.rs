//! The unit of a duration in a Parquet file. Parquet has no such type: Arrow's writers store the number, and the type in the
//! schema that they put into the metadata (`ARROW:schema`: base64 of an IPC message, a flatbuffer).

/// Where Arrow's writers keep their schema.
pub(super) const KEY: &str = "ARROW:schema";

/// What Arrow says of the type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Said {
    /// A duration in units of so many nanoseconds.
    Duration(u64),
    /// Something else.
    Other,
}

/// The type of a column of the outermost level; `None` if the schema does not say or is damaged.
pub(super) fn type_of(schema: &str, column: &str) -> Option<Said> {
    /// Of the union of types, in the order of Arrow's `Schema.fbs`.
    const DURATION: u8 = 18;
    let bytes = base64(schema)?;
    // A continuation mark and a length stand before the message; old writers have only the length.
    let start = if bytes.starts_with(&[0xff; 4]) { 8 } else { 4 };
    let buffer = Buffer(bytes.get(start..)?);
    let message = buffer.follow(0)?;
    let schema = buffer.follow(buffer.field(message, 2)?)?;
    let fields = buffer.follow(buffer.field(schema, 1)?)?;
    for index in 0..buffer.u32(fields)?.min(4096) as usize {
        let field = buffer.follow(fields + 4 + 4 * index)?;
        let name = buffer.follow(buffer.field(field, 0)?)?;
        let length = buffer.u32(name)? as usize;
        if buffer.0.get(name + 4..)?.get(..length)? != column.as_bytes() {
            continue;
        }
        let kind = *buffer.0.get(buffer.field(field, 2)?)?;
        if kind != DURATION {
            return Some(Said::Other);
        }
        let duration = buffer.follow(buffer.field(field, 3)?)?;
        // Milliseconds are the default, which is not written.
        let unit = buffer.field(duration, 0).map_or(Some(1), |at| buffer.u16(at))?;
        return [1_000_000_000, 1_000_000, 1_000, 1].get(usize::from(unit)).map(|ns| Said::Duration(*ns));
    }
    None
}

/// A flatbuffer; every step is checked.
struct Buffer<'a>(&'a [u8]);

impl Buffer<'_> {
    fn u16(&self, at: usize) -> Option<u16> {
        Some(u16::from_le_bytes(self.0.get(at..)?.first_chunk().copied()?))
    }

    fn u32(&self, at: usize) -> Option<u32> {
        Some(u32::from_le_bytes(self.0.get(at..)?.first_chunk().copied()?))
    }

    /// The target of a reference.
    fn follow(&self, at: usize) -> Option<usize> {
        at.checked_add(self.u32(at)? as usize).filter(|target| *target < self.0.len())
    }

    /// The place of a field of a table, if it is there.
    fn field(&self, table: usize, number: usize) -> Option<usize> {
        let back = self.u32(table)?.cast_signed();
        let names = usize::try_from(i64::try_from(table).ok()? - i64::from(back)).ok()?;
        let place = 4 + 2 * number;
        if usize::from(self.u16(names)?) < place + 2 {
            return None;
        }
        let offset = usize::from(self.u16(names + place)?);
        (offset > 0).then(|| table + offset)
    }
}

fn base64(text: &str) -> Option<Vec<u8>> {
    // A schema of thousands of columns is far below this.
    if text.len() > 16 << 20 {
        return None;
    }
    let (mut bytes, mut word, mut bits) = (Vec::with_capacity(text.len()), 0u32, 0);
    for letter in text.bytes().filter(|letter| *letter != b'=') {
        let digit = match letter {
            b'A'..=b'Z' => letter - b'A',
            b'a'..=b'z' => letter - b'a' + 26,
            b'0'..=b'9' => letter - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        (word, bits) = (word << 6 | u32::from(digit), bits + 6);
        if bits >= 8 {
            bits -= 8;
            bytes.push((word >> bits) as u8);
        }
    }
    Some(bytes)
}
