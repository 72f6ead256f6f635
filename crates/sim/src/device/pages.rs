//! Pages of one command.

use crate::units::Ppn;

/// Largest number of pages of a multi-plane command.
pub const MAX_PLANES: usize = 4;

/// Pages of one command, at most one per plane. Their number is beside the first of them, which is mostly the only one.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct PageSet {
    len: u8,
    pages: [Ppn; MAX_PLANES],
}

impl PageSet {
    /// No page.
    pub const EMPTY: Self = Self { pages: [Ppn::NONE; MAX_PLANES], len: 0 };

    /// A single page.
    pub fn one(page: Ppn) -> Self {
        let mut set = Self::EMPTY;
        set.push(page);
        set
    }

    /// Makes it a single page.
    #[inline(always)]
    pub fn set(&mut self, page: Ppn) {
        self.pages[0] = page;
        self.len = 1;
    }

    /// The first page, or none.
    #[inline(always)]
    pub fn head(&self) -> Ppn {
        self.pages[0]
    }

    /// Adds a page.
    pub fn push(&mut self, page: Ppn) {
        self.pages[usize::from(self.len)] = page;
        self.len += 1;
    }

    /// The pages after the first `n`.
    pub fn after(&self, n: usize) -> Self {
        let mut rest = Self::EMPTY;
        self[n..].iter().for_each(|page| rest.push(*page));
        rest
    }
}

impl std::ops::Deref for PageSet {
    type Target = [Ppn];
    #[inline(always)]
    fn deref(&self) -> &[Ppn] {
        &self.pages[..usize::from(self.len)]
    }
}
