//! The figures that variants are compared by, tenant by tenant.

use serde_json::{Map, Value as Json};
use ssdlab_sim::report::tenants::Tenant;

use crate::outcome::Outcome;
use crate::variants::figures::{Figure, Metric, Unit, metrics, whole};

/// All of them, in the order of tables. They are read from tenants, so none has a place in a summary.
#[rustfmt::skip]
pub const METRICS: &[Metric<Tenant>] = metrics! {
    "read_mean_ns" "" "read mean" Time |t| t.latency_ns.read.mean;
    "write_mean_ns" "" "write mean" Time |t| t.latency_ns.write.mean;
    "all_mean_ns" "" "mean" Time |t| t.latency_ns.all.mean;
    "all_p99_ns" "" "p99" Time |t| whole(t.latency_ns.all.p99);
    "iops" "" "IOPS" Rate |t| t.iops;
    "write_amplification" "" "" Factor |t| t.write_amplification;
    "write_amplification_bytes" "" "write amplification" Factor |t| t.write_amplification_bytes;
};

/// A tenant of a variant.
#[derive(Clone, Debug)]
pub struct Of {
    /// Its name.
    pub name: String,
    /// By metric, in the order of [`METRICS`]; none where it, or the tenant of that name in the baseline, had nothing to count.
    pub figures: Vec<Option<Figure>>,
}

impl Of {
    /// The figures that tables show, with their metrics.
    pub fn shown(&self) -> impl Iterator<Item = (&Metric<Tenant>, Option<&Figure>)> {
        METRICS.iter().zip(&self.figures).filter(|(of, _)| !of.head.is_empty()).map(|(of, own)| (of, own.as_ref()))
    }

    /// The same, to be judged.
    pub fn shown_mut(&mut self) -> impl Iterator<Item = &mut Figure> {
        METRICS.iter().zip(&mut self.figures).filter(|(of, _)| !of.head.is_empty()).filter_map(|(_, own)| own.as_mut())
    }
}

fn values(outcomes: &[Outcome], name: &str, metric: &Metric<Tenant>) -> Option<Vec<f64>> {
    let of = |outcome: &Outcome| {
        let (_, tenant) = outcome.summary.tenants.as_ref()?.0.iter().find(|(own, _)| own == name)?;
        (metric.of)(tenant)
    };
    outcomes.iter().map(of).collect()
}

/// The tenants of a variant, compared with those of the same names in the baseline, unless it is the baseline itself. Each list has
/// an outcome a seed.
pub fn of(outcomes: &[Outcome], base: Option<&[Outcome]>) -> Vec<Of> {
    let tenants = outcomes.first().and_then(|outcome| outcome.summary.tenants.as_ref());
    let names = tenants.into_iter().flat_map(|tenants| &tenants.0).map(|(name, _)| name.clone());
    let one = |name: String| {
        let figure = |metric: &Metric<Tenant>| {
            let own = values(outcomes, &name, metric)?;
            Some(match base {
                None => Figure::first(own),
                Some(base) => Figure::new(own, &values(base, &name, metric)?),
            })
        };
        let figures = METRICS.iter().map(figure).collect();
        Of { name, figures }
    };
    names.map(one).collect()
}

/// Their part of `ssdlab.compare/1`.
pub fn json(tenants: &[Of], several: bool) -> Json {
    let one = |tenant: &Of| {
        let each = METRICS.iter().zip(&tenant.figures);
        let figures: Map<String, Json> = each.map(|(metric, figure)| metric.entry(figure.as_ref(), several)).collect();
        (tenant.name.clone(), Json::Object(figures))
    };
    Json::Object(tenants.iter().map(one).collect())
}
