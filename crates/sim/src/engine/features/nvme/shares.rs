//! What tenants cost each other: counters of tenants at every die and bus, read when an operation begins to wait and when it is
//! served.

use crate::engine::features::nvme::MAX_TENANTS;
use crate::engine::kernel::Kernel;
use crate::engine::rules::Rules;
use crate::engine::{Features, Host};
use crate::request::RequestOp;
use crate::units::{Nanos, OpId, RequestId, UnitId};

type ByTenant = [u64; MAX_TENANTS];

/// A die or a bus: for how long operations of each tenant have held it.
#[derive(Clone, Debug)]
struct Held {
    totals: ByTenant,
    /// The tenant that holds it, since when, and until when if that is known.
    holder: Option<usize>,
    since: Nanos,
    until: Nanos,
}

impl Held {
    const FREE: Self = Held { totals: [0; MAX_TENANTS], holder: None, since: Nanos::ZERO, until: Nanos::NEVER };

    fn at(&self, now: Nanos) -> ByTenant {
        let mut totals = self.totals;
        if let Some(holder) = self.holder {
            totals[holder] += (now.min(self.until) - self.since).0;
        }
        totals
    }

    fn pass(&mut self, to: Option<usize>, now: Nanos, until: Nanos) {
        self.totals = self.at(now);
        (self.holder, self.since, self.until) = (to, now, until);
    }
}

/// See the module's documentation.
#[derive(Clone)]
pub(in crate::engine) struct Shares {
    dies: Vec<Held>,
    buses: Vec<Held>,
    /// By request: those of its completed page that finished last so far.
    best: Vec<ByTenant>,
}

impl Shares {
    pub(super) fn new(units: usize, buses: usize) -> Self {
        Shares { dies: vec![Held::FREE; units], buses: vec![Held::FREE; buses], best: Vec::new() }
    }

    pub(super) fn power_cut(&mut self, now: Nanos) {
        self.dies.iter_mut().chain(&mut self.buses).for_each(|held| held.pass(None, now, Nanos::NEVER));
    }
}

/// Divides an amount like the times of tenants; what is left over goes to the largest, and all to `own` if there are none.
fn divide(amount: u64, times: &ByTenant, own: usize) -> ByTenant {
    let mut shares = [0; MAX_TENANTS];
    let total: u128 = times.iter().map(|ns| u128::from(*ns)).sum();
    if total == 0 {
        shares[own] = amount;
        return shares;
    }
    for (share, ns) in shares.iter_mut().zip(times) {
        *share = (u128::from(amount) * u128::from(*ns) / total) as u64;
    }
    let most = (0..MAX_TENANTS).max_by_key(|tenant| (times[*tenant], std::cmp::Reverse(*tenant))).unwrap_or(own);
    shares[most] += amount - shares.iter().sum::<u64>();
    shares
}

impl Features {
    fn held_by_tenants(&self, now: Nanos) -> ByTenant {
        let mut sums = [0; MAX_TENANTS];
        for held in &self.nvme().shares.dies {
            sums.iter_mut().zip(held.at(now)).for_each(|(sum, ns)| *sum += ns);
        }
        sums
    }

    /// A page has completed, the last one so far of a request that has more: keeps what tenants cost it, if requests have tenants.
    #[inline(always)]
    pub(in crate::engine) fn keep_shares(&mut self, kernel: &Kernel, rules: &Rules, id: RequestId, op: OpId) {
        if rules.tenants {
            self.keeps_shares(kernel, id, op);
        }
    }

    /// The same on a device with tenants.
    #[inline(never)]
    fn keeps_shares(&mut self, kernel: &Kernel, id: RequestId, op: OpId) {
        let by = kernel.ops.tenant[op].by;
        let best = &mut self.nvme_mut().shares.best;
        if best.len() <= id.0 as usize {
            best.resize(id.0 as usize + 1, [0; MAX_TENANTS]);
        }
        best[id.0 as usize] = by;
    }

    /// What tenants cost a request whose last page has completed.
    pub(super) fn shares_of(&self, kernel: &Kernel, id: RequestId, last: OpId) -> ByTenant {
        if last.is_some() { kernel.ops.tenant[last].by } else { self.nvme().shares.best[id.0 as usize] }
    }

    /// A unit serves an operation from now on, or none: its tenant holds the unit, if requests have tenants.
    #[inline(always)]
    pub(in crate::engine) fn die_serves(&mut self, kernel: &Kernel, rules: &Rules, now: Nanos, unit: UnitId, op: OpId) {
        if rules.tenants {
            self.passes_die(kernel, now, unit, op);
        }
    }

    /// An operation has left a unit, which serves what is left there from now on, or nothing.
    #[inline(always)]
    pub(in crate::engine) fn die_serves_rest(&mut self, kernel: &Kernel, rules: &Rules, now: Nanos, unit: UnitId) {
        if rules.tenants {
            self.passes_die(kernel, now, unit, kernel.dies[unit].of_event());
        }
    }

    /// A unit serves an operation of a tenant from now on, or none.
    #[inline(never)]
    fn passes_die(&mut self, kernel: &Kernel, now: Nanos, unit: UnitId, op: OpId) {
        let host = op.is_some() && kernel.ops[op].class.like_host();
        let tenant = host.then(|| self.tenant_of(kernel, op));
        self.nvme_mut().shares.dies[unit.ix()].pass(tenant, now, Nanos::NEVER);
    }

    /// A bus is granted to an operation for a time. It has waited, in part for GC: tenants share the rest, if requests have tenants.
    #[inline(always)]
    pub(in crate::engine) fn share_bus(
        &mut self,
        kernel: &mut Kernel,
        rules: &Rules,
        now: Nanos,
        op: OpId,
        bus: usize,
        (wait, for_gc, time): (u64, u64, Nanos),
    ) {
        if rules.tenants {
            self.shares_bus(kernel, now, op, bus, wait - for_gc, now + time);
        }
    }

    /// The same on a device with tenants.
    #[inline(never)]
    fn shares_bus(&mut self, kernel: &mut Kernel, now: Nanos, op: OpId, bus: usize, host: u64, until: Nanos) {
        let like_host = kernel.ops[op].class.like_host();
        if like_host && host > 0 {
            let own = self.tenant_of(kernel, op);
            let times = self.nvme().shares.buses[bus].at(now);
            let before = kernel.ops.tenant[op].bus;
            let waited: ByTenant = std::array::from_fn(|tenant| times[tenant] - before[tenant]);
            let shares = divide(host, &waited, own);
            // All pages of a command wait as one.
            let mut at = op;
            while at.is_some() {
                let page = &mut kernel.ops.tenant[at];
                page.by.iter_mut().zip(shares).for_each(|(sum, ns)| *sum += ns);
                at = kernel.ops[at].mate;
            }
        }
        let tenant = like_host.then(|| self.tenant_of(kernel, op));
        self.nvme_mut().shares.buses[bus].pass(tenant, now, until);
    }

    /// Of the tenants other than its own, the one that cost a completed request most, and how much; none if none did.
    #[inline(always)]
    pub(in crate::engine) fn aggressor(
        &self,
        kernel: &Kernel,
        host: &Host,
        rules: &Rules,
        id: RequestId,
        last: OpId,
    ) -> Option<(u8, Nanos)> {
        if rules.tenants { self.aggressor_of(kernel, host, id, last) } else { None }
    }

    /// The same on a device with tenants.
    #[inline(never)]
    fn aggressor_of(&self, kernel: &Kernel, host: &Host, id: RequestId, last: OpId) -> Option<(u8, Nanos)> {
        let record = &host.requests[id];
        if record.request.op == RequestOp::Flush {
            return None;
        }
        let own = usize::from(record.marks.tenant);
        let shares = self.shares_of(kernel, id, last).into_iter().enumerate();
        let others = shares.filter(|(tenant, ns)| *tenant != own && *ns > 0);
        others
            .max_by_key(|(tenant, ns)| (*ns, std::cmp::Reverse(*tenant)))
            .map(|(tenant, ns)| (tenant as u8, Nanos(ns)))
    }
}

impl Kernel {
    /// Time that is charged to host operations, of no particular tenant but its own. Without tenants it is nobody's.
    #[inline(always)]
    pub(in crate::engine) fn share_own(&mut self, features: &Features, rules: &Rules, op: OpId, host: u64) {
        if rules.tenants {
            self.shares_own(features, op, host);
        }
    }

    /// The same on a device with tenants.
    #[inline(never)]
    fn shares_own(&mut self, features: &Features, op: OpId, host: u64) {
        let mut at = op;
        while at.is_some() {
            let own = features.tenant_of(self, at);
            self.ops.tenant[at].by[own] += host;
            at = self.ops[at].mate;
        }
    }

    /// A write is charged waits of its write-back for other host operations: they cost it what they cost the write-back.
    #[inline(never)]
    pub(in crate::engine) fn share_like(&mut self, features: &Features, write: OpId, writeback: OpId, host: u64) {
        let shares = divide(host, &self.ops.tenant[writeback].by, features.tenant_of(self, write));
        self.ops.tenant[write].by.iter_mut().zip(shares).for_each(|(sum, ns)| *sum += ns);
    }

    /// An operation has waited for other host operations of a unit: divides that among their tenants, if requests have tenants.
    #[inline(always)]
    pub(in crate::engine) fn share_die(
        &mut self,
        features: &Features,
        rules: &Rules,
        now: Nanos,
        op: OpId,
        unit: UnitId,
        host: u64,
    ) {
        if rules.tenants {
            self.shares_die(features, now, op, unit, host);
        }
    }

    /// The same on a device with tenants.
    #[inline(never)]
    fn shares_die(&mut self, features: &Features, now: Nanos, op: OpId, unit: UnitId, host: u64) {
        if host == 0 {
            return;
        }
        let own = features.tenant_of(self, op);
        let times = features.nvme().shares.dies[unit.ix()].at(now);
        let page = &mut self.ops.tenant[op];
        let waited: ByTenant = std::array::from_fn(|tenant| times[tenant] - page.die[tenant]);
        let shares = divide(host, &waited, own);
        page.by.iter_mut().zip(shares).for_each(|(sum, ns)| *sum += ns);
    }

    /// An operation begins to wait for a unit: notes how long tenants have held that, if requests have tenants.
    #[inline(always)]
    pub(in crate::engine) fn shares_at_queue(
        &mut self,
        features: &Features,
        rules: &Rules,
        now: Nanos,
        op: OpId,
        unit: UnitId,
    ) {
        if rules.tenants {
            self.notes_die(features, now, op, unit);
        }
    }

    /// The same on a device with tenants.
    #[inline(never)]
    fn notes_die(&mut self, features: &Features, now: Nanos, op: OpId, unit: UnitId) {
        self.ops.tenant[op].die = features.nvme().shares.dies[unit.ix()].at(now);
    }

    /// An operation asks for a bus: notes how long tenants have held it so far, if requests have tenants.
    #[inline(always)]
    pub(in crate::engine) fn shares_at_bus(
        &mut self,
        features: &Features,
        rules: &Rules,
        now: Nanos,
        op: OpId,
        bus: usize,
    ) {
        if rules.tenants {
            self.notes_bus(features, now, op, bus);
        }
    }

    /// The same on a device with tenants.
    #[inline(never)]
    fn notes_bus(&mut self, features: &Features, now: Nanos, op: OpId, bus: usize) {
        self.ops.tenant[op].bus = features.nvme().shares.buses[bus].at(now);
    }

    /// A write begins to wait for any unit: notes how long tenants have held all of them, if requests have tenants.
    #[inline(always)]
    pub(in crate::engine) fn shares_anywhere(&mut self, features: &Features, rules: &Rules, now: Nanos, op: OpId) {
        if rules.tenants {
            self.ops.tenant[op].die = features.held_by_tenants(now);
        }
    }

    /// A write has waited for host operations of all units: divides that among their tenants, if requests have tenants.
    #[inline(always)]
    pub(in crate::engine) fn share_anywhere(
        &mut self,
        features: &Features,
        rules: &Rules,
        now: Nanos,
        op: OpId,
        host: u64,
    ) {
        if rules.tenants {
            self.shares_all(features, now, op, host);
        }
    }

    /// An operation has waited exactly as long as another one, for the same: tenants cost both the same, if requests have tenants.
    #[inline(always)]
    pub(in crate::engine) fn share_same(&mut self, rules: &Rules, op: OpId, lead: OpId) {
        if rules.tenants {
            self.ops.tenant[op].by = self.ops.tenant[lead].by;
        }
    }

    /// A write of a tenant has waited for any unit ([`Kernel::share_anywhere`]).
    fn shares_all(&mut self, features: &Features, now: Nanos, op: OpId, host: u64) {
        let (times, own) = (features.held_by_tenants(now), features.tenant_of(self, op));
        let page = &mut self.ops.tenant[op];
        let waited: ByTenant = std::array::from_fn(|tenant| times[tenant] - page.die[tenant]);
        let shares = divide(host, &waited, own);
        page.by.iter_mut().zip(shares).for_each(|(sum, ns)| *sum += ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_sum_exactly() {
        let mut times = [0; MAX_TENANTS];
        (times[1], times[4]) = (1, 2);
        assert_eq!(divide(10, &times, 0)[..5], [0, 3, 0, 0, 7]);
        assert_eq!(divide(10, &[0; MAX_TENANTS], 2)[2], 10);
    }
}
