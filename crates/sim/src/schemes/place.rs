//! The plane of a host write: one of the 24 static orders, the next one in turn, or any idle die.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::device::place::StaticOrder;

const LETTERS: [u8; 4] = *b"CWDP";

/// Placement of host writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The plane that the logical page number determines.
    Static(StaticOrder),
    /// The next plane in CWDP order with room, at admission: the page then waits for this plane, as it does with a static order.
    RoundRobin,
    /// The first idle die after the last one used, in CWDP order. While none is idle, writes wait in one device-wide FIFO.
    Dynamic,
}

impl Default for Place {
    fn default() -> Self {
        Place::Static(StaticOrder::default())
    }
}

impl std::str::FromStr for Place {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        if text == "dynamic" {
            return Ok(Place::Dynamic);
        }
        if text == "round-robin" {
            return Ok(Place::RoundRobin);
        }
        let mut order = [0; 4];
        let axes: Vec<usize> = text.bytes().filter_map(|b| LETTERS.iter().position(|l| *l == b)).collect();
        if text.len() != 4 || axes.len() != 4 || (0..4).any(|axis| !axes.contains(&axis)) {
            return Err(format!(
                "`{text}` is not a placement: expected \"dynamic\", \"round-robin\" or an order of the letters C, W, D, P such as \"CWDP\""
            ));
        }
        order.iter_mut().zip(axes).for_each(|(slot, axis)| *slot = axis as u8);
        Ok(Place::Static(StaticOrder::new(order)))
    }
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        match self {
            Place::Dynamic => f.write_str("dynamic"),
            Place::RoundRobin => f.write_str("round-robin"),
            Place::Static(order) => {
                order.axes().iter().try_for_each(|a| write!(f, "{}", LETTERS[usize::from(*a)] as char))
            }
        }
    }
}

impl<'de> Deserialize<'de> for Place {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

impl Serialize for Place {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_order_is_a_bijection_whose_first_letter_varies_fastest() {
        let radix = [3, 2, 4, 2];
        let mut orders = 0;
        for text in permutations() {
            let Ok(Place::Static(order)) = text.parse() else { panic!("{text}") };
            let mut planes: Vec<u32> = (0..48).map(|n| order.plane(n, radix)).collect();
            let fastest = order.plane(1, radix);
            let step = [1, 3, 6, 24][LETTERS.iter().position(|l| *l == text.as_bytes()[0]).unwrap()];
            assert_eq!(fastest, step, "{text}");
            planes.sort_unstable();
            assert!(planes.iter().enumerate().all(|(i, p)| i as u32 == *p), "{text}");
            assert_eq!(Place::Static(order).to_string(), text);
            orders += 1;
        }
        assert_eq!(orders, 24);
        assert!(["CWDD", "CWD", "cwdp", "CWDPX", ""].iter().all(|t| t.parse::<Place>().is_err()));
    }

    fn permutations() -> Vec<String> {
        let mut all = Vec::new();
        for a in LETTERS {
            for b in LETTERS {
                for c in LETTERS {
                    for d in LETTERS {
                        let text: Vec<u8> = vec![a, b, c, d];
                        if LETTERS.iter().all(|l| text.contains(l)) {
                            all.push(String::from_utf8(text).unwrap());
                        }
                    }
                }
            }
        }
        all
    }
}

#[cfg(feature = "schema")]
crate::schema::text_forms! {
    Place: { "type": "string", "pattern": "^(dynamic|round-robin|[CWDP]{4})$", "examples": ["CWDP", "round-robin", "dynamic"] },
}
