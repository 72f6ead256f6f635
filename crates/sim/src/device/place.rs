//! Static placement: a logical page's number determines its plane.

/// A static order: the first letter varies fastest (`CWDP`: channel = LPN mod C, then chip, die, plane).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StaticOrder([u8; 4]);

impl StaticOrder {
    /// An order of the axes channel (0), chip (1), die (2) and plane (3), fastest first.
    pub fn new(axes: [u8; 4]) -> Self {
        StaticOrder(axes)
    }

    /// The axes, fastest first.
    pub fn axes(&self) -> &[u8; 4] {
        &self.0
    }

    /// Plane of number `n` on an array of `radix = [channels, chips, dies, planes]`.
    pub fn plane(self, n: u32, radix: [u32; 4]) -> u32 {
        let mut rest = n;
        let mut digits = [0; 4];
        for axis in self.0.map(usize::from) {
            digits[axis] = rest % radix[axis];
            rest /= radix[axis];
        }
        let [c, w, d, p] = digits;
        ((p * radix[2] + d) * radix[1] + w) * radix[0] + c
    }

    /// The same order of dies and planes, with channels and chips fastest: for layouts that fix the chip.
    pub fn within_chip(self) -> Self {
        let mut order = [0, 1, 2, 3];
        order[2..].iter_mut().zip(self.0.into_iter().filter(|axis| *axis > 1)).for_each(|(slot, axis)| *slot = axis);
        StaticOrder(order)
    }
}

impl Default for StaticOrder {
    fn default() -> Self {
        StaticOrder([0, 1, 2, 3])
    }
}
